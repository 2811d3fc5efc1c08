/**
 * Every reason of a problem of Gateway API, which is that of a condition in the status. In: nothing.
 * Out: on which objects each stands, what it means and what to do, for `pingress codes` and
 * `docs/codes.md`; a test finds each in the code and on `docs/gateway-status.md`.
 */

export interface GatewayReason {
  readonly reason: string;
  /** Types of the conditions that have it. */
  readonly conditions: readonly string[];
  readonly kinds: readonly string[];
  /** What is wrong, and what follows from it; a clause. */
  readonly meaning: string;
  readonly remedy: string;
}

const GATEWAY = ["Gateway"];
const ROUTE = ["HTTPRoute"];
const BOTH = ["Gateway", "HTTPRoute"];

type Row = readonly [
  reason: string,
  conditions: readonly string[],
  kinds: readonly string[],
  meaning: string,
  remedy: string,
];

const ROWS: readonly Row[] = [
  [
    "InvalidParameters",
    ["Accepted"],
    ["Gateway", "GatewayClass"],
    "the object of `parametersRef` cannot be used",
    "Correct the ConfigMap where the message says, or remove parametersRef.",
  ],
  [
    "ListenersNotValid",
    ["Accepted", "Programmed"],
    GATEWAY,
    "no listener can be served; with status True, some cannot",
    "Correct the listeners: the condition of each says what is wrong.",
  ],
  [
    "UnsupportedAddress",
    ["Accepted"],
    GATEWAY,
    "an address of `spec.addresses` is not of a supported type",
    "Write an address of type IPAddress, or remove the entry.",
  ],
  [
    "UnsupportedProtocol",
    ["Accepted"],
    GATEWAY,
    "the protocol of a listener is not supported",
    "Write HTTP or HTTPS.",
  ],
  [
    "HostnameConflict",
    ["Accepted"],
    GATEWAY,
    "another listener of the port has the same hostname",
    "Change the hostname or the port of one of the listeners.",
  ],
  [
    "ProtocolConflict",
    ["Accepted"],
    GATEWAY,
    "another listener of the port has another protocol",
    "Change the protocol or the port of one of the listeners.",
  ],
  [
    "PortUnavailable",
    ["Accepted", "Programmed"],
    GATEWAY,
    "the port of a listener cannot be opened, or the address of Ingresses does not have it",
    "Free the port in the proxies that the message names, widen --listen-range, or write one of the ports that the message names.",
  ],
  [
    "HostnameNotOwned",
    ["Accepted"],
    ROUTE,
    "on an address that is shared with Ingresses, other namespaces own all hostnames of the route",
    "Write other hostnames, or give the Gateway an address of its own.",
  ],
  [
    "UnsupportedValue",
    ["Accepted", "PartiallyInvalid"],
    BOTH,
    "a field has a value that is not supported; rules that have it return 500",
    "Remove the field, or write a value that docs/gateway.md lists.",
  ],
  [
    "NoMatchingParent",
    ["Accepted"],
    ROUTE,
    "the Gateway has no such listener",
    "Correct sectionName or port of the parentRef.",
  ],
  [
    "NoMatchingListenerHostname",
    ["Accepted"],
    ROUTE,
    "no hostname of the route is one of the listeners'",
    "Add the hostname to a listener, or change that of the route.",
  ],
  [
    "NotAllowedByListeners",
    ["Accepted"],
    ROUTE,
    "no listener accepts routes of the namespace or the kind",
    "Admit the namespace by allowedRoutes of a listener.",
  ],
  [
    "NotAllowed",
    ["Accepted", "Programmed"],
    ["ListenerSet"],
    "ListenerSets are not supported",
    "Write the listeners into the Gateway.",
  ],
  [
    "InvalidCertificateRef",
    ["ResolvedRefs"],
    GATEWAY,
    "the Secret of a listener does not exist, or has no valid certificate",
    "Create the Secret with type kubernetes.io/tls, or correct the reference.",
  ],
  [
    "InvalidRouteKinds",
    ["ResolvedRefs"],
    GATEWAY,
    "a kind of routes that a listener allows is not supported",
    "Write HTTPRoute, or remove allowedRoutes.kinds.",
  ],
  [
    "BackendNotFound",
    ["ResolvedRefs"],
    ROUTE,
    "the Service or its port does not exist; its requests get 500",
    "Create the Service, add the port to it, or correct the backendRef.",
  ],
  [
    "InvalidKind",
    ["ResolvedRefs"],
    ROUTE,
    "the backend is no Service; its requests get 500",
    "Use a Service as the backend.",
  ],
  [
    "RefNotPermitted",
    ["ResolvedRefs"],
    BOTH,
    "a reference to another namespace is not permitted; requests to it get 500",
    "Create a ReferenceGrant in the namespace of the object that is referenced.",
  ],
  [
    "AddressNotAssigned",
    ["Programmed"],
    GATEWAY,
    "the Gateway has no address yet",
    "Wait for the load balancer, or check the controller of the cloud provider.",
  ],
  [
    "AddressNotUsable",
    ["Programmed"],
    GATEWAY,
    "an address of `spec.addresses` cannot be used",
    "Write an address that the load balancer can assign.",
  ],
  [
    "Invalid",
    ["Programmed"],
    GATEWAY,
    "the Gateway or the listener is not accepted, or its Service cannot become what it asks for",
    "Follow the message, and correct what Accepted and ResolvedRefs report.",
  ],
  [
    "Pending",
    ["Programmed"],
    GATEWAY,
    "proxies do not have the Gateway yet, or none is ready",
    "Check the proxies that the message names.",
  ],
];

/** Problems of them are errors. */
export const GATEWAY_REASONS: readonly GatewayReason[] = ROWS.map(
  ([reason, conditions, kinds, meaning, remedy]) => ({
    reason,
    conditions,
    kinds,
    meaning,
    remedy,
  }),
);
