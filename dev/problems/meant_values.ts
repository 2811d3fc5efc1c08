/**
 * What somebody meant by a value that is not served. In: a problem, and the files. Out: the same at the value itself,
 * with the value to write; as it is where nothing is like the value. Pure. The controller does not search: a
 * tenant could write thousands of names.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import { GATEWAY_API, GATEWAYS, HTTP_ROUTES } from "../../controller/kube/types.ts";
import { readParentRef } from "../../controller/translate/gateway/objects/parent_ref.ts";
import { parseHostPattern } from "../../shared/host/host_pattern.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import type { Problem } from "../../shared/problem.ts";
import type { Manifests } from "../manifests/manifests.ts";

export function withMeant(problem: Problem, manifests: Manifests): Problem {
  switch (problem.reason) {
    case "HostInvalid":
      return withHost(problem, manifests);
    case "UnsupportedProtocol":
      return withProtocol(problem, manifests);
    case "NoMatchingParent":
      return withSection(problem, manifests);
    case "UnsupportedValue":
      return withPath(withHost(problem, manifests), manifests);
    default:
      return problem;
  }
}

/** Of the API; an Ingress has `Prefix` in place of the second. */
const PATH_TYPES = ["Exact", "PathPrefix", "RegularExpression"];

function withPath(problem: Problem, manifests: Manifests): Problem {
  const { object, field, message } = problem;
  const written = asText(manifests.valueAt(object, field));
  if (field.endsWith(".path.value") && written !== null && message.includes("begin with a slash")) {
    return { ...problem, remedy: write(`/${written}`) };
  }
  if (!field.endsWith(".path.type")) return problem;
  const meant = written === "Prefix" || written === "ImplementationSpecific"
    ? "PathPrefix"
    : nearestName(written ?? "", PATH_TYPES);
  return meant === null ? problem : { ...problem, remedy: write(meant) };
}

const PROTOCOLS = ["HTTP", "HTTPS"];

/** Of a listener. */
function withProtocol(problem: Problem, manifests: Manifests): Problem {
  const field = `${problem.field}.protocol`;
  const written = asText(manifests.valueAt(problem.object, field));
  if (written === null) return problem;
  const meant = PROTOCOLS.find((each) => each === written.toUpperCase());
  return meant === undefined ? { ...problem, field } : { ...problem, field, remedy: write(meant) };
}

/** Of the parent of a route: the listener that it names. */
function withSection(problem: Problem, manifests: Manifests): Problem {
  const { object, field } = problem;
  const parent = parentAt(problem, manifests);
  if (parent === null || parent.sectionName === null) return problem;
  const names = listenersOf(parent, manifests).flatMap((each) =>
    asText(fieldOf(each, "name")) ?? []
  );
  if (names.includes(parent.sectionName)) return problem;
  const meant = nearestName(parent.sectionName, names);
  const shown = names.slice(0, MAX_SHOWN).map((name) => `"${name}"`).join(", ");
  const remedy = meant !== null
    ? write(meant)
    : names.length === 0
    ? problem.remedy
    : `Write the name of a listener: ${shown}${names.length > MAX_SHOWN ? ", …" : ""}`;
  return { ...problem, object, field: `${field}.sectionName`, remedy };
}

/** Listeners in a remedy. */
const MAX_SHOWN = 5;

/** Whether a route is not allowed since no listener that it names has a protocol that is served. */
export function followsFromProtocol(problem: Problem, manifests: Manifests): boolean {
  if (problem.reason !== "NotAllowedByListeners") return false;
  const parent = parentAt(problem, manifests);
  if (parent === null) return false;
  const named = listenersOf(parent, manifests).filter((each) =>
    parent.sectionName === null || fieldOf(each, "name") === parent.sectionName
  );
  return named.length > 0 &&
    named.every((each) => !PROTOCOLS.includes(asText(fieldOf(each, "protocol")) ?? ""));
}

function parentAt({ object, field }: Problem, manifests: Manifests) {
  if (object?.kind !== HTTP_ROUTES.kind) return null;
  return readParentRef(manifests.valueAt(object, field), object.namespace, 0);
}

function listenersOf(
  { group, kind, namespace, name }: NonNullable<ReturnType<typeof parentAt>>,
  manifests: Manifests,
): readonly unknown[] {
  if (group !== GATEWAY_API || kind !== GATEWAYS.kind) return [];
  return asList(manifests.valueAt({ kind, namespace, name }, "spec.listeners")) ?? [];
}

/** Of a rule, a TLS entry, a listener, or one of the hostnames of a route. */
function withHost(problem: Problem, manifests: Manifests): Problem {
  const { object, field, reason } = problem;
  const isOfHosts = reason === "HostInvalid" || /\.hostnames?$/.test(field);
  const listed = isOfHosts ? asList(manifests.valueAt(object, field)) ?? [] : [];
  const fields = [
    ...(isOfHosts ? [field] : []),
    `${field}.hostname`,
    ...listed.map((_, i) => `${field}[${i}]`),
  ];
  for (const each of fields) {
    const written = manifests.valueAt(object, each);
    if (typeof written !== "string" || parseHostPattern(written).ok) continue;
    const remedy = hostRemedy(written);
    if (remedy !== null) return { ...problem, field: each, remedy };
  }
  return problem;
}

/** `https://a.test/x` and `a.test:80` as `a.test`, `bücher.test` as `xn--bcher-kva.test`; null for others. */
export function hostRemedy(written: string): string | null {
  if (/\$\{?\w/.test(written)) {
    return "Replace the variables first, as by envsubst < FILE > DIR/all.yaml";
  }
  const [host] = written.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\//, "").split(/[/?#]/);
  // Not of an address: one of IPv6 has more colons.
  const name = host.replace(/^([^:]*):\d*$/, "$1");
  if (!URL.canParse(`http://${name}`)) return null;
  const { hostname } = new URL(`http://${name}`);
  const pattern = parseHostPattern(hostname);
  return pattern.ok && pattern.host !== written && !/^[\d.]+$/.test(hostname)
    ? `Write ${pattern.host}`
    : null;
}

function write(value: string): string {
  return `Write "${value}"`;
}
