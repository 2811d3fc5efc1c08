/** Examples of problems of backends, and of TLS to them. In: nothing. Out: by reason, YAML with the mistake, or a situation in a sentence. */

export const BACKEND_EXAMPLES: Readonly<Record<string, string>> = {
  BackendInvalid: [
    "backend:",
    "  service:",
    "    name: web   # without a port",
  ].join("\n"),
  BackendMissing: [
    "http:",
    "  paths:",
    "    - { path: /, pathType: Prefix }",
  ].join("\n"),
  BackendNotSupported: [
    "backend:",
    "  resource: { apiGroup: k8s.example.com, kind: Bucket, name: files }",
  ].join("\n"),
  ServiceNotFound: [
    "backend:",
    "  service: { name: shop, port: { number: 80 } }   # the namespace has no Service shop",
  ].join("\n"),
  ServicePortNotFound: [
    "backend:",
    "  service: { name: web, port: { number: 8080 } }   # the Service has port 80",
  ].join("\n"),
  EndpointsMissing: "A Service whose selector matches no pod, or none that is ready.",
  DefaultBackendInvalid: [
    "metadata:",
    "  annotations:",
    "    nginx.ingress.kubernetes.io/default-backend: errors   # a Service without endpoints",
  ].join("\n"),
  EndpointInvalid: [
    "kind: EndpointSlice",
    "endpoints:",
    "  - addresses: [db.example.com]",
  ].join("\n"),
  EndpointZoneInvalid: [
    "kind: EndpointSlice",
    "endpoints:",
    "  - addresses: [10.0.0.1]",
    "    zone: rack 7, second row",
  ].join("\n"),
  EndpointNotAllowed: [
    "kind: EndpointSlice",
    "endpoints:",
    "  - addresses: [169.254.169.254]",
  ].join("\n"),
  ExternalNameNotAllowed: [
    "kind: Service",
    "spec:",
    "  type: ExternalName",
    "  externalName: api.example.com",
  ].join("\n"),
  ExternalNameInvalid: [
    "kind: Service",
    "spec:",
    "  type: ExternalName",
    "  externalName: 192.0.2.1",
  ].join("\n"),
  BalanceUnknown: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    "    pingress.io/balance: random",
  ].join("\n"),
  GrpcWebInvalid: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    '    pingress.io/grpc-web: "yes"',
  ].join("\n"),
  AppProtocolUnknown: [
    "kind: Service",
    "spec:",
    "  ports:",
    "    - { port: 80, appProtocol: quic }",
  ].join("\n"),
  UpstreamTlsInvalid:
    "A Service with appProtocol: https whose annotation pingress.io/upstream-tls-ca names no valid Secret.",
  UpstreamCaMissing: [
    "kind: Service",
    "spec:",
    "  ports:",
    "    - { port: 443, appProtocol: https }   # with a certificate of a private CA",
  ].join("\n"),
  UpstreamCaInvalid: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    "    pingress.io/upstream-tls-ca: backend-ca   # the Secret has no ca.crt",
  ].join("\n"),
  ClientCertificateInvalid: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    "    pingress.io/upstream-tls-client-certificate: client   # no such Secret",
  ].join("\n"),
  UpstreamNameInvalid: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    "    pingress.io/upstream-tls-name: https://db",
  ].join("\n"),
  UpstreamVerifyInvalid: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    '    pingress.io/upstream-tls-verify: "no"',
  ].join("\n"),
  UpstreamUnverified: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    '    pingress.io/upstream-tls-verify: "false"',
  ].join("\n"),
  UpstreamTlsIgnored: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    "    pingress.io/upstream-tls-ca: backend-ca",
    "spec:",
    "  ports:",
    "    - port: 80   # no appProtocol: https",
  ].join("\n"),
  UpstreamSecretInvalid: [
    "metadata:",
    "  annotations:",
    "    nginx.ingress.kubernetes.io/proxy-ssl-secret: other/ca   # of another namespace",
  ].join("\n"),
  UpstreamAnnotationUnknown: [
    "kind: Service",
    "metadata:",
    "  annotations:",
    "    pingress.io/upstream-tls-hostname: db.example.com",
  ].join("\n"),
};
