/**
 * Listeners of a Gateway. In: an element of `spec.listeners` of unknown shape. Out: what it serves, which
 * routes may attach to it, and what is wrong with it by itself.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#listener
 */
import { asList, asObject, asPort, asText, fieldOf, isAbsent, quote } from "../../../base/json.ts";
import { GATEWAY_API, HTTP_ROUTES } from "../../../kube/types.ts";
import { type Condition, falseCondition } from "./condition.ts";
import { type Hostname, readHostname } from "./hostname.ts";
import { type LabelSelector, readLabelSelector } from "./label_selector.ts";
import { readReference, type Reference } from "./reference.ts";

/** A kind of routes. */
export interface RouteKind {
  readonly group: string;
  readonly kind: string;
}

/** Namespaces whose routes may attach. */
export type AllowedNamespaces =
  | { readonly from: "All" | "Same" | "None" }
  | { readonly from: "Selector"; readonly selector: LabelSelector };

export interface ListenerModel {
  readonly name: string;
  /** `spec.listeners[0]`. */
  readonly field: string;
  readonly port: number;
  readonly protocol: string;
  readonly hostname: Hostname;
  /** It has a hostname that cannot be read, so that it is in conflict with none. */
  readonly isHostnameInvalid: boolean;
  readonly allowed: AllowedNamespaces;
  /** Those of its protocol that it allows. */
  readonly supportedKinds: readonly RouteKind[];
  /** Null where a reference cannot be read. */
  readonly certificates: readonly (Reference | null)[];
  /** Why it is not accepted; null where it is, as far as it says itself. */
  readonly refusal: Condition | null;
  /** Why its kinds of routes are not resolved; null where they are. */
  readonly kindsFault: Condition | null;
}

export const HTTP_ROUTE: RouteKind = { group: GATEWAY_API, kind: HTTP_ROUTES.kind };

/** By protocol. */
const KINDS: Readonly<Record<string, readonly RouteKind[]>> = {
  HTTP: [HTTP_ROUTE],
  HTTPS: [HTTP_ROUTE],
};

/** Null for what has no name or port, which the API server refuses. */
export function readListener(
  value: unknown,
  field: string,
  namespace: string,
): ListenerModel | null {
  const name = asText(fieldOf(value, "name"));
  const port = asPort(fieldOf(value, "port"));
  const protocol = asText(fieldOf(value, "protocol"));
  if (name === null || port === null || protocol === null) return null;
  const tls = fieldOf(value, "tls");
  const written = fieldOf(value, "hostname");
  const hasHostname = !isAbsent(written) && written !== "";
  const hostname = hasHostname ? readHostname(written) : null;
  const kinds = Object.hasOwn(KINDS, protocol) ? KINDS[protocol] : [];
  const allowedRoutes = fieldOf(value, "allowedRoutes");
  const { allowed, selectorFault } = readAllowed(
    fieldOf(allowedRoutes, "namespaces"),
    field,
  );
  const { supported, invalid } = readKinds(fieldOf(allowedRoutes, "kinds"), kinds);
  return {
    ...{ name, field, port, protocol, hostname, allowed },
    isHostnameInvalid: hasHostname && hostname === null,
    supportedKinds: supported,
    certificates: protocol === "HTTPS"
      ? (asList(fieldOf(tls, "certificateRefs")) ?? []).map((ref) =>
        readReference(ref, { group: "", kind: "Secret", namespace })
      )
      : [],
    refusal: refusalOf(field, protocol, kinds, tls) ??
      (hasHostname && hostname === null
        ? falseCondition(
          "Accepted",
          "UnsupportedValue",
          `${field}: hostname ${quote(written)} is no DNS name. Write a name, or *. and a name.`,
        )
        : null) ??
      selectorFault,
    kindsFault: invalid.length === 0 ? null : falseCondition(
      "ResolvedRefs",
      "InvalidRouteKinds",
      `${field}: allowedRoutes.kinds has ${
        invalid.join(", ")
      }, which a listener of protocol ${protocol} ` +
        `does not serve. Remove ${invalid.length === 1 ? "it" : "them"}.`,
    ),
  };
}

function refusalOf(
  field: string,
  protocol: string,
  kinds: readonly RouteKind[],
  tls: unknown,
): Condition | null {
  if (kinds.length === 0) {
    return falseCondition(
      "Accepted",
      "UnsupportedProtocol",
      `${field}: protocol ${quote(protocol)} is not supported. Write HTTP or HTTPS.`,
    );
  }
  const mode = fieldOf(tls, "mode");
  if (protocol === "HTTPS" && !isAbsent(mode) && mode !== "Terminate") {
    return falseCondition(
      "Accepted",
      "UnsupportedValue",
      `${field}: tls.mode ${quote(mode)} is not supported with HTTPS. Write Terminate.`,
    );
  }
  const [option] = Object.keys(asObject(fieldOf(tls, "options")) ?? {});
  if (option !== undefined) {
    return falseCondition(
      "Accepted",
      "UnsupportedValue",
      `${field}: tls.options ${quote(option)} is not supported. Remove it.`,
    );
  }
  return null;
}

/** By default routes of the Gateway's own namespace. What cannot be read allows none. */
function readAllowed(
  value: unknown,
  field: string,
): { readonly allowed: AllowedNamespaces; readonly selectorFault: Condition | null } {
  const from = isAbsent(fieldOf(value, "from")) ? "Same" : fieldOf(value, "from");
  if (from === "All" || from === "Same" || from === "None") {
    return { allowed: { from }, selectorFault: null };
  }
  const selector = from === "Selector" ? readLabelSelector(fieldOf(value, "selector")) : null;
  return selector === null
    ? {
      allowed: { from: "None" },
      selectorFault: falseCondition(
        "Accepted",
        "UnsupportedValue",
        `${field}: allowedRoutes.namespaces cannot be read, so it allows no routes. Write from: Same, All, or Selector with a ` +
          "selector.",
      ),
    }
    : { allowed: { from: "Selector", selector }, selectorFault: null };
}

/** Those of the protocol; without any, all of it. */
function readKinds(
  value: unknown,
  kinds: readonly RouteKind[],
): { readonly supported: readonly RouteKind[]; readonly invalid: readonly string[] } {
  const written = asList(value) ?? [];
  if (written.length === 0) return { supported: kinds, invalid: [] };
  const supported: RouteKind[] = [];
  const invalid: string[] = [];
  for (const each of written) {
    const group = fieldOf(each, "group") ?? GATEWAY_API;
    const kind = fieldOf(each, "kind");
    const known = kinds.find((one) => one.group === group && one.kind === kind);
    if (known === undefined) invalid.push(quote(kind));
    else if (!supported.includes(known)) supported.push(known);
  }
  return { supported, invalid };
}
