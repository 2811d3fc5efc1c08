/**
 * Attachment of routes. In: a parent that a route names, and the Gateway that it is. Out: the listeners that
 * the route attaches to, each with the hosts that both have; or why there is none.
 *
 * https://gateway-api.sigs.k8s.io/concepts/api-overview/#attaching-routes-to-gateways
 */
import { type Condition, falseCondition } from "./condition.ts";
import type { GatewayModel } from "./gateway.ts";
import { type Hostname, intersection } from "./hostname.ts";
import type { HttpRouteModel } from "./http_route.ts";
import { HTTP_ROUTE, type ListenerModel, type RouteKind } from "./listener.ts";
import type { ParentRef } from "./parent_ref.ts";

export interface AttachedListener {
  readonly listener: ListenerModel;
  /** The hosts of the route on the listener; none where others have them. The same list for the same hostname. */
  readonly hostnames: readonly Hostname[];
}

export type Attachment =
  | {
    readonly ok: true;
    readonly listeners: readonly AttachedListener[];
    /** Which of its hosts are not served, and why; clauses. Missing where all of them are. */
    readonly note?: string;
  }
  | { readonly ok: false; readonly condition: Condition };

/** What is looked at of a route, on all of its parents. */
export class AttachingRoute {
  readonly kind: RouteKind = HTTP_ROUTE;
  readonly namespace: string;
  readonly #route: Pick<HttpRouteModel, "hostnames" | "hasNoHost">;
  /** By hostname of a listener: a route may have thousands of listeners, with few of them. */
  readonly #hosts = new Map<Hostname, readonly Hostname[]>();

  constructor(route: Pick<HttpRouteModel, "identity" | "hostnames" | "hasNoHost">) {
    this.namespace = route.identity.ref.namespace;
    this.#route = route;
  }

  /** The very same list again for the same hostname of a listener. */
  hostsOn(hostname: Hostname): readonly Hostname[] {
    let hosts = this.#hosts.get(hostname);
    if (hosts === undefined) this.#hosts.set(hostname, hosts = hostsOf(hostname, this.#route));
    return hosts;
  }
}

/** Of namespaces, by name; null where they cannot be read: then no selector selects any. */
export type NamespaceLabels = ReadonlyMap<string, Readonly<Record<string, string>>> | null;

export function attach(
  parent: ParentRef,
  gateway: GatewayModel,
  route: AttachingRoute,
  namespaces: NamespaceLabels,
): Attachment {
  const { label } = gateway.identity;
  const at = `spec.parentRefs[${parent.index}]`;
  const named = gateway.listeners.filter(({ name, port }) =>
    (parent.sectionName === null || parent.sectionName === name) &&
    (parent.port === null || parent.port === port)
  );
  if (named.length === 0) {
    return notAccepted(
      "NoMatchingParent",
      `${at}: ${label} has no listener${showSection(parent)}. Write the name and port of one.`,
    );
  }
  const open = named.filter((listener) => allows(listener, gateway, route, namespaces));
  if (open.length === 0) {
    return notAccepted(
      "NotAllowedByListeners",
      `${at}: ${label} has no listener that allows routes of kind ${route.kind.kind} in namespace ` +
        `${route.namespace}. Change allowedRoutes of the listener.`,
    );
  }
  const listeners = open.map((listener) => ({
    listener,
    hostnames: route.hostsOn(listener.hostname),
  }))
    .filter(({ hostnames }) => hostnames.length > 0);
  return listeners.length > 0 ? { ok: true, listeners } : notAccepted(
    "NoMatchingListenerHostname",
    `spec.hostnames: none is one of a listener of ${label}. Change them, or hostname of the listener.`,
  );
}

function notAccepted(reason: string, message: string): Attachment {
  return { ok: false, condition: falseCondition("Accepted", reason, message) };
}

function showSection({ sectionName, port }: ParentRef): string {
  const parts = [sectionName ?? [], port === null ? [] : `on port ${port}`].flat();
  return parts.map((part) => ` ${part}`).join("");
}

function allows(
  { supportedKinds, allowed }: ListenerModel,
  gateway: GatewayModel,
  { kind, namespace }: AttachingRoute,
  namespaces: NamespaceLabels,
): boolean {
  const isKind = supportedKinds.some((one) => one.kind === kind.kind && one.group === kind.group);
  if (!isKind) return false;
  switch (allowed.from) {
    case "All":
      return true;
    case "None":
      return false;
    case "Same":
      return namespace === gateway.identity.ref.namespace;
    case "Selector": {
      const labels = namespaces?.get(namespace);
      return labels !== undefined && allowed.selector(labels);
    }
  }
}

function hostsOf(
  hostname: Hostname,
  { hostnames, hasNoHost }: Pick<HttpRouteModel, "hostnames" | "hasNoHost">,
): readonly Hostname[] {
  if (hasNoHost) return [];
  if (hostnames.length === 0) return [hostname];
  const shared = hostnames.flatMap((each) => intersection(hostname, each) ?? []);
  return [...new Set(shared)];
}
