/**
 * The golden files of Gateway API. In: `gateway/NAME.in.yaml`, the objects of one case as ordinary manifests.
 * Out: the conditions of every class, Gateway, route and ListenerSet, the listeners and routes of the snapshot,
 * and hosts with their certificates where there are some; and problems of Ingresses, as the text of `NAME.out.yaml`. `gateway/conformance/` has the objects of the tests of the
 * official conformance suite, one case each.
 *
 * `!base64 NAME …` stands for files in `certificates/`, as for `translate_case.ts`.
 */
import { Document } from "yaml";
import type { Condition } from "../../controller/translate/gateway/objects/condition.ts";
import {
  DEFAULT_GATEWAY_OPTIONS,
  translate,
  type Translation,
} from "../../controller/translate/translator.ts";
import { isAlike } from "../../controller/kube/likeness.ts";
import {
  type ServiceSettings,
  serviceSettings,
} from "../../controller/translate/gateway/objects/parameters.ts";
import type { FilterSpec, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { formatObject } from "../../shared/problem.ts";
import { namesEndingIn, parseObjects, shortenSmallMaps } from "./golden_yaml.ts";
import { DEFAULT_OPTIONS, resourcesOf } from "./translate_case.ts";

const FOLDER = new URL("./gateway/", import.meta.url);

/** Names of all cases, sorted; those of the conformance suite begin with `conformance/`. */
export function gatewayCaseNames(): string[] {
  return namesOf(".in.yaml");
}

export function gatewayOutputNames(): string[] {
  return namesOf(".out.yaml");
}

function namesOf(ending: string): string[] {
  const suite = "conformance/";
  return [
    ...namesEndingIn(FOLDER, ending),
    ...namesEndingIn(new URL(suite, FOLDER), ending).map((name) => `${suite}${name}`),
  ].sort();
}

export function gatewayOutputFile(name: string): URL {
  return new URL(`${name}.out.yaml`, FOLDER);
}

export function readGatewayCase(name: string): readonly unknown[] {
  return parseObjects(Deno.readTextFileSync(new URL(`${name}.in.yaml`, FOLDER)), name);
}

const NOW = Date.parse("2030-01-01T00:00:00Z");

const OPTIONS = { ...DEFAULT_OPTIONS, gateway: DEFAULT_GATEWAY_OPTIONS };

const NONE = serviceSettings({}, {}, DEFAULT_GATEWAY_OPTIONS.service);
if (!NONE.ok) throw new TypeError("No parameters are to be valid");
const WITHOUT_PARAMETERS = NONE.value;

/** Nothing was published before. */
export function runGatewayCase(objects: readonly unknown[]): Translation {
  return translate(resourcesOf(objects), null, OPTIONS, () => NOW);
}

/** As YAML, objects by their names. */
export function formatGatewayCase({ gateway, snapshot, problems }: Translation): string {
  const { classes, gateways, routes, listenerSets } = gateway!;
  const ofIngresses = problems.filter(({ object }) => object?.kind === "Ingress");
  const document = new Document({
    classes: classes.map(({ name, generation, conditions }) => ({
      ...{ name, generation },
      conditions: conditions.map(showCondition),
    })),
    gateways: gateways.map(({ identity, conditions, listeners, ports, ...gateway }) => ({
      name: identity.key,
      generation: gateway.generation,
      conditions: conditions.map(showCondition),
      listeners: listeners.map(({ supportedKinds, conditions, ...listener }) => ({
        ...listener,
        conditions: conditions.map(showCondition),
        supportedKinds: supportedKinds.map(({ kind }) => kind),
      })),
      ports: ports.map(({ port }) => port),
      ...(gateway.address === "shared" ? { address: "shared" } : showService(gateway.service)),
    })),
    routes: routes.map(({ identity, generation, parents }) => ({
      name: identity.key,
      generation,
      parents: parents.map(({ parentRef, conditions }) => ({
        parentRef,
        conditions: conditions.map(showCondition),
      })),
    })),
    ...(listenerSets.length === 0 ? {} : {
      listenerSets: listenerSets.map(({ identity, generation, conditions }) => ({
        name: identity.key,
        ...{ generation, conditions: conditions.map(showCondition) },
      })),
    }),
    served: {
      listeners: (snapshot.listeners ?? []).map((listener) => showListener(listener)),
      routes: snapshot.routes.map((route) => showRoute(route, snapshot)),
      ...showCertificates(snapshot),
    },
    ...(ofIngresses.length === 0 ? {} : {
      problems: ofIngresses.map(({ object, field, reason, message }) =>
        `${formatObject(object!)} ${field}: ${reason}, ${message}`
      ),
    }),
  }, { aliasDuplicateObjects: false });
  shortenSmallMaps(document, { items: 5, length: 20 });
  return document.toString({ lineWidth: 100 });
}

/** As it is written. */
function showCondition({ type, status, reason, message }: Condition): Condition {
  return { type, status, reason, message };
}

/** Only what differs from a Service without parameters. */
function showService(service: ServiceSettings | null) {
  if (service === null) return { service: "as it is" };
  const differing = Object.entries(service).filter(([key, value]) =>
    !isAlike(value, WITHOUT_PARAMETERS[key as keyof ServiceSettings])
  );
  return differing.length === 0 ? {} : { service: Object.fromEntries(differing) };
}

/** `infra/web/http: HTTP on port 80 for *.example.com`. */
function showListener(
  { id, protocol, port, hostname, certificates }: NonNullable<Snapshot["listeners"]>[number],
): string {
  const shown = certificates === undefined ? "" : `, ${certificates.length} certificates`;
  return `${id}: ${protocol} on port ${port} for ${hostname ?? "any host"}${shown}`;
}

/** `infra/tls: app.example.com`, those of hosts alone. */
function showCertificates({ certificates }: Snapshot): { readonly certificates?: string[] } {
  const shown = certificates.filter(({ hosts }) => hosts.length > 0)
    .map(({ origin: { namespace, name }, hosts }) => `${namespace}/${name}: ${hosts.join(", ")}`);
  return shown.length === 0 ? {} : { certificates: shown };
}

/** `app.example.com Prefix /a GET on infra/web/http: shop/api:80 × 9, 500 × 1`. */
function showRoute({ host, match, listeners, action, filterSet }: Route, snapshot: Snapshot) {
  const values = [...match.headers ?? [], ...match.query ?? []]
    .map(({ name, type, value }) => ` ${name}${type === "Exact" ? "=" : "~"}${value}`);
  const filters = snapshot.filterSets?.find(({ id }) => id === filterSet)?.filters ?? [];
  const { path: { type, value }, method } = match;
  return `${host} ${type} ${value}${method === undefined ? "" : ` ${method}`}${values.join("")} ` +
    `on ${listeners?.join(" and ") ?? "all"}: ${filters.map(showFilter).join("")}${
      showAction(action)
    }`;
}

function showFilter({ kind, ...filter }: FilterSpec): string {
  return `${kind} ${JSON.stringify(filter)}, `;
}

function showAction(action: Route["action"]): string {
  if (action.kind === "reply") return `${action.status}, as ${action.reason}`;
  return action.backends.map(({ upstream, fault, weight }) =>
    `${fault === undefined ? upstream : 500}${weight === undefined ? "" : ` × ${weight}`}`
  ).join(", ");
}
