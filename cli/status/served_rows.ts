/**
 * What is served, a row for each Ingress and Gateway. In: facts. Out: hosts, backends, certificates, problems and
 * addresses of each. Pure.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import { keyOf } from "../../controller/base/identity.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import { SERVICE_NAME_LABEL } from "../../controller/outputs/addresses/names.ts";
import { REPORTING_COMPONENT } from "../../controller/outputs/events/record.ts";
import { readGatewayClasses } from "../../controller/translate/gateway/objects/gateway_class.ts";
import { readParentRef } from "../../controller/translate/gateway/objects/parent_ref.ts";
import { formatObject, type Severity } from "../../shared/problem.ts";
import { daysLeft } from "../installation/certificates.ts";
import { isServed, servedClasses } from "../installation/ingress_class.ts";
import type { StatusFacts } from "./facts.ts";

export interface ServedRow {
  readonly kind: "Ingress" | "Gateway";
  readonly namespace: string;
  readonly name: string;
  /** As written; `*` for a rule without a host. */
  readonly hosts: readonly string[];
  readonly backends: Backends;
  /** Of the certificate that ends first. */
  readonly certificate: CertificateState | null;
  /** Null where they are not known. */
  readonly problems: readonly RowProblem[] | null;
  readonly addresses: readonly string[];
}

/** Services, and their endpoints; `ready` is null where it is not known. */
export interface Backends {
  readonly ready: number | null;
  readonly total: number;
  readonly readyEndpoints: number | null;
  readonly endpoints: number | null;
}

export interface CertificateState {
  /** `NAMESPACE/NAME`. */
  readonly secret: string;
  /** Negative once it has expired; null where it is not known, or there is no certificate. */
  readonly days: number | null;
  /** Whether nothing is served from the Secret, as where it is missing; null where it is not known. */
  readonly missing: boolean | null;
}

export interface RowProblem {
  /** `Ingress default/web`; for a Gateway also those of its routes. */
  readonly object: string;
  readonly reason: string;
  /** Null where only an Event says so. */
  readonly severity: Severity | null;
  readonly message: string;
}

/** By kind, namespace and name. */
export function servedRows(facts: StatusFacts): readonly ServedRow[] {
  return [...ingressRows(facts), ...gatewayRows(facts)];
}

function ingressRows(facts: StatusFacts): readonly ServedRow[] {
  const { objects: { ingresses, ingressClasses }, installation: { options } } = facts;
  if (!ingresses.ok) return [];
  const classes = servedClasses(ingressClasses.ok ? ingressClasses.value : [], options);
  const lookups = lookupsOf(facts);
  return sorted(ingresses.value.filter((one) => isServed(one, classes))).map((ingress) => {
    const { namespace = "", name } = ingress.metadata;
    const spec = fieldOf(ingress, "spec");
    const rules = asList(fieldOf(spec, "rules")) ?? [];
    const secrets = (asList(fieldOf(spec, "tls")) ?? [])
      .flatMap((entry) => asText(fieldOf(entry, "secretName")) ?? []);
    return {
      kind: "Ingress",
      ...{ namespace, name },
      hosts: unique(rules.map((rule) => asText(fieldOf(rule, "host")) || "*")),
      backends: lookups.backends(
        [
          fieldOf(spec, "defaultBackend"),
          ...rules.flatMap((rule) => asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? [])
            .map((path) => fieldOf(path, "backend")),
        ].flatMap((backend) => asText(fieldOf(fieldOf(backend, "service"), "name")) ?? [])
          .map((service) => keyOf({ namespace, name: service })),
      ),
      certificate: lookups.certificate(
        secrets.map((secret) => keyOf({ namespace, name: secret })),
      ),
      problems: lookups.problems([formatObject({ kind: "Ingress", namespace, name })]),
      addresses: addressesOf(
        fieldOf(fieldOf(fieldOf(ingress, "status"), "loadBalancer"), "ingress"),
        ["ip", "hostname"],
      ),
    };
  });
}

function gatewayRows(facts: StatusFacts): readonly ServedRow[] {
  const { gateways, gatewayClasses, httpRoutes } = facts.objects;
  if (!gateways.ok || !gatewayClasses.ok) return [];
  const classes = readGatewayClasses(gatewayClasses.value);
  const routes = routesByGateway(httpRoutes.ok ? httpRoutes.value : []);
  const lookups = lookupsOf(facts);
  const own = gateways.value.filter((gateway) =>
    classes.has(asText(fieldOf(fieldOf(gateway, "spec"), "gatewayClassName")) ?? "")
  );
  return sorted(own).map((gateway) => {
    const { namespace = "", name } = gateway.metadata;
    const attached = routes.get(keyOf({ namespace, name })) ?? [];
    const listeners = asList(fieldOf(fieldOf(gateway, "spec"), "listeners")) ?? [];
    const hostnames = [
      ...listeners.flatMap((listener) => asText(fieldOf(listener, "hostname")) ?? []),
      ...attached.flatMap((route) =>
        (asList(fieldOf(fieldOf(route, "spec"), "hostnames")) ?? []).flatMap((host) =>
          asText(host) ?? []
        )
      ),
    ];
    return {
      kind: "Gateway",
      ...{ namespace, name },
      hosts: hostnames.length === 0 ? ["*"] : unique(hostnames),
      backends: lookups.backends(attached.flatMap(backendsOf)),
      certificate: lookups.certificate(
        listeners.flatMap((listener) =>
          asList(fieldOf(fieldOf(listener, "tls"), "certificateRefs")) ?? []
        ).flatMap((ref) => referenceKey(ref, namespace)),
      ),
      problems: lookups.problems([
        formatObject({ kind: "Gateway", namespace, name }),
        ...attached.map(({ metadata }) =>
          formatObject({
            kind: "HTTPRoute",
            namespace: metadata.namespace ?? "",
            name: metadata.name,
          })
        ),
      ]),
      addresses: addressesOf(fieldOf(fieldOf(gateway, "status"), "addresses"), ["value"]),
    };
  });
}

function routesByGateway(
  routes: readonly KubeObject[],
): ReadonlyMap<string, readonly KubeObject[]> {
  const byGateway = new Map<string, KubeObject[]>();
  for (const route of routes) {
    const { namespace = "" } = route.metadata;
    const parents = (asList(fieldOf(fieldOf(route, "spec"), "parentRefs")) ?? [])
      .flatMap((value, i) => readParentRef(value, namespace, i) ?? [])
      .filter(({ kind }) => kind === "Gateway");
    for (const key of unique(parents.map(keyOf))) {
      const list = byGateway.get(key) ?? [];
      byGateway.set(key, list);
      list.push(route);
    }
  }
  return byGateway;
}

/** Keys of the Services that a route names. */
function backendsOf(route: KubeObject): readonly string[] {
  const { namespace = "" } = route.metadata;
  return (asList(fieldOf(fieldOf(route, "spec"), "rules")) ?? [])
    .flatMap((rule) => asList(fieldOf(rule, "backendRefs")) ?? [])
    .filter((ref) => (asText(fieldOf(ref, "kind")) ?? "Service") === "Service")
    .flatMap((ref) => referenceKey(ref, namespace));
}

function referenceKey(reference: unknown, namespace: string): string[] {
  const name = asText(fieldOf(reference, "name"));
  const other = asText(fieldOf(reference, "namespace"));
  return name === null ? [] : [keyOf({ namespace: other ?? namespace, name })];
}

interface Lookups {
  /** @param services Keys of Services. */
  backends(services: readonly string[]): Backends;
  /** @param secrets Keys of Secrets. */
  certificate(secrets: readonly string[]): CertificateState | null;
  /** @param objects Such as `Ingress default/web`. */
  problems(objects: readonly string[]): readonly RowProblem[] | null;
}

function lookupsOf(facts: StatusFacts): Lookups {
  const { services, endpointSlices } = facts.objects;
  const endpoints = endpointSlices.ok ? endpointsByService(endpointSlices.value) : null;
  const external = new Set(
    (services.ok ? services.value : [])
      .filter((service) => fieldOf(fieldOf(service, "spec"), "type") === "ExternalName")
      .map(serviceKey),
  );
  const certificates = facts.certificates.ok
    ? new Map(facts.certificates.value.map(({ secret, endsAt }) => [secret, endsAt]))
    : null;
  const problems = problemsByObject(facts);
  return {
    backends: (keys) => {
      const named = unique(keys);
      if (endpoints === null) {
        return { ready: null, total: named.length, readyEndpoints: null, endpoints: null };
      }
      const counts = named.map((key) =>
        endpoints.get(key) ?? (external.has(key) ? EXTERNAL : NO_ENDPOINTS)
      );
      return {
        ready: counts.filter(({ ready }) => ready > 0).length,
        total: named.length,
        readyEndpoints: counts.reduce((sum, { ready }) => sum + ready, 0),
        endpoints: counts.reduce((sum, { all }) => sum + all, 0),
      };
    },
    certificate: (secrets) => {
      const states = secrets.map((secret): CertificateState => {
        if (certificates === null) return { secret, days: null, missing: null };
        const endsAt = certificates.get(secret);
        return endsAt === undefined
          ? { secret, days: null, missing: true }
          : { secret, days: endsAt === null ? null : daysLeft(endsAt, facts.now), missing: false };
      });
      const rank = ({ days, missing }: CertificateState) =>
        missing === true ? -Infinity : days ?? Infinity;
      return states.toSorted((a, b) => rank(a) - rank(b))[0] ?? null;
    },
    problems: (objects) =>
      problems === null ? null : objects.flatMap((object) => problems.get(object) ?? []),
  };
}

interface EndpointCount {
  readonly ready: number;
  readonly all: number;
}

const NO_ENDPOINTS: EndpointCount = { ready: 0, all: 0 };

/** A name outside of the cluster, which nobody watches. */
const EXTERNAL: EndpointCount = { ready: 1, all: 1 };

function endpointsByService(
  slices: readonly KubeObject[],
): ReadonlyMap<string, EndpointCount> {
  const counts = new Map<string, EndpointCount>();
  for (const slice of slices) {
    const { namespace = "", labels } = slice.metadata;
    const name = labels?.[SERVICE_NAME_LABEL];
    if (name === undefined) continue;
    const key = keyOf({ namespace, name });
    const endpoints = asList(fieldOf(slice, "endpoints")) ?? [];
    const ready = endpoints.filter((endpoint) =>
      // Unknown counts as ready, as for everybody who reads EndpointSlices.
      fieldOf(fieldOf(endpoint, "conditions"), "ready") !== false
    ).length;
    const before = counts.get(key) ?? NO_ENDPOINTS;
    counts.set(key, { ready: before.ready + ready, all: before.all + endpoints.length });
  }
  return counts;
}

/** Null where they are not known. */
function problemsByObject(
  { pages: { problems }, events }: StatusFacts,
): ReadonlyMap<string, readonly RowProblem[]> | null {
  if (problems.ok && problems.value !== null) {
    return Map.groupBy(
      problems.value.map(({ object, reason, severity, message }) => ({
        ...{ object: object ?? "", reason, severity, message },
      })),
      ({ object }) => object,
    );
  }
  if (events === null || !events.ok) return null;
  const own = events.value.filter((event) =>
    fieldOf(event, "reportingComponent") === REPORTING_COMPONENT
  );
  return Map.groupBy(
    own.map((event) => {
      const object = fieldOf(event, "involvedObject");
      return {
        object: formatObject({
          kind: asText(fieldOf(object, "kind")) ?? "",
          namespace: asText(fieldOf(object, "namespace")) ?? "",
          name: asText(fieldOf(object, "name")) ?? "",
        }),
        reason: asText(fieldOf(event, "reason")) ?? "",
        severity: null,
        message: asText(fieldOf(event, "message")) ?? "",
      };
    }),
    ({ object }) => object,
  );
}

function serviceKey({ metadata: { namespace = "", name } }: KubeObject): string {
  return keyOf({ namespace, name });
}

function addressesOf(list: unknown, fields: readonly string[]): readonly string[] {
  return (asList(list) ?? []).flatMap((entry) =>
    fields.flatMap((field) => asText(fieldOf(entry, field)) || [])
  );
}

function sorted(objects: readonly KubeObject[]): readonly KubeObject[] {
  const key = ({ metadata: { namespace = "", name } }: KubeObject) => `${namespace}/${name}`;
  return objects.toSorted((a, b) => key(a) < key(b) ? -1 : 1);
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
