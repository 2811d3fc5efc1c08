/** Examples of problems of Gateway API. In: nothing. Out: by reason, YAML with the mistake, or a situation in a sentence. */

export const GATEWAY_EXAMPLES: Readonly<Record<string, string>> = {
  InvalidParameters: [
    "kind: Gateway",
    "spec:",
    "  infrastructure:",
    '    parametersRef: { group: "", kind: ConfigMap, name: gone }',
  ].join("\n"),
  ListenersNotValid: "A Gateway whose only listener has the protocol TCP.",
  UnsupportedAddress: [
    "spec:",
    "  addresses:",
    "    - { type: example.com/Pool, value: blue }",
  ].join("\n"),
  AddressNotAssigned: [
    "spec:",
    "  addresses:",
    "    - { type: IPAddress, value: 192.0.2.10 }   # the load balancer gave another one",
  ].join("\n"),
  AddressNotUsable: [
    "spec:",
    "  addresses:",
    "    - { type: IPAddress, value: 0.0.0.0 }",
  ].join("\n"),
  UnsupportedProtocol: [
    "spec:",
    "  listeners:",
    "    - { name: db, port: 5432, protocol: TCP }",
  ].join("\n"),
  HostnameConflict: [
    "spec:",
    "  listeners:",
    "    - { name: a, port: 80, protocol: HTTP, hostname: example.com }",
    "    - { name: b, port: 80, protocol: HTTP, hostname: example.com }",
  ].join("\n"),
  ProtocolConflict: [
    "spec:",
    "  listeners:",
    "    - { name: a, port: 443, protocol: HTTP }",
    "    - { name: b, port: 443, protocol: HTTPS, tls: … }",
  ].join("\n"),
  PortUnavailable: "More listeners than `--listen-range` has ports.",
  HostnameNotOwned:
    "With `address: shared`, an HTTPRoute of namespace `b` names `app.example.com`, " +
    "which an Ingress of namespace `a` has.",
  UnsupportedValue: [
    "spec:",
    "  rules:",
    "    - filters:",
    "        - { type: RequestMirror, requestMirror: … }",
  ].join("\n"),
  NoMatchingParent: [
    "spec:",
    "  parentRefs:",
    "    - { name: web, sectionName: htps }   # the listener is called https",
  ].join("\n"),
  NoMatchingListenerHostname: [
    "spec:",
    "  hostnames: [shop.example.com]   # the listener has *.example.org",
  ].join("\n"),
  NotAllowedByListeners: [
    "spec:",
    "  listeners:",
    "    - name: http",
    "      allowedRoutes: { namespaces: { from: Same } }   # the route is in another namespace",
  ].join("\n"),
  NotAllowed: "kind: ListenerSet",
  InvalidCertificateRef: [
    "tls:",
    "  certificateRefs:",
    "    - { name: web-tls }   # no such Secret",
  ].join("\n"),
  InvalidRouteKinds: [
    "allowedRoutes:",
    "  kinds: [{ kind: GRPCRoute }]",
  ].join("\n"),
  BackendNotFound: [
    "backendRefs:",
    "  - { name: shop, port: 8080 }   # the Service has port 80",
  ].join("\n"),
  InvalidKind: [
    "backendRefs:",
    "  - { group: storage.example.com, kind: Bucket, name: files }",
  ].join("\n"),
  RefNotPermitted: [
    "backendRefs:",
    "  - { name: shop, namespace: team-b, port: 80 }",
  ].join("\n"),
  Invalid:
    "A Gateway whose listener has a protocol that is not supported, so that it is not programmed.",
  Pending: "A Service of type LoadBalancer in a cluster without load balancers.",
};
