/** Examples of problems of files. In: nothing. Out: by reason, YAML with the mistake, or a situation in a sentence. */

export const MANIFEST_EXAMPLES: Readonly<Record<string, string>> = {
  NotParsable: [
    "spec:",
    "  rules:",
    "    - host: *.example.com   # begins an alias in YAML",
  ].join("\n"),
  NotReadable: "A file that belongs to another user.",
  NotAnObject: [
    "apiVersion: networking.k8s.io/v1",
    "metadata:",
    "  name: web   # and no kind",
  ].join("\n"),
  FileIgnored: "A kustomization.yaml, values.yaml or package.json.",
  KustomizationNotApplied: [
    "kind: Kustomization",
    "resources: [../../base]",
    "patches: [{ path: host.yaml }]",
  ].join("\n"),
  KindIgnored: "kind: Deployment",
  KindUnknown: [
    "apiVersion: networking.k8s.io/v1",
    "kind: Ingres",
  ].join("\n"),
  KindNotServed: "kind: GRPCRoute",
  ApiVersionNotSupported: [
    "apiVersion: extensions/v1beta1",
    "kind: Ingress",
  ].join("\n"),
  NamespaceInvalid: [
    "metadata:",
    "  name: web",
    "  namespace: 5",
  ].join("\n"),
  FieldUnknown: [
    "spec:",
    "  rule:   # rules",
    "    - host: shop.example.com",
  ].join("\n"),
  ValueNotString: [
    "metadata:",
    "  annotations:",
    "    nginx.ingress.kubernetes.io/ssl-redirect: true",
  ].join("\n"),
  ValueTypeWrong: [
    "kind: Service",
    "spec:",
    "  ports:",
    '    - port: "80"',
  ].join("\n"),
  ValueInvalid: [
    "kind: Service",
    "spec:",
    "  type: ClusterIp   # ClusterIP",
  ].join("\n"),
  ClassesDiffer: [
    "metadata:",
    "  annotations:",
    "    kubernetes.io/ingress.class: nginx",
    "spec:",
    "  ingressClassName: pingress",
  ].join("\n"),
  ClassNotServed: [
    "spec:",
    "  ingressClassName: traefik",
  ].join("\n"),
  DefaultClassNotServed: [
    "kind: IngressClass",
    "metadata:",
    "  name: nginx",
    "  annotations:",
    '    ingressclass.kubernetes.io/is-default-class: "true"',
  ].join("\n"),
  ManifestsMissing: "An empty folder, or one without files that end with .yaml, .yml or .json.",
  CertificateExpiresSoon: "A Secret whose certificate ends in three days.",
  AnnotationInvalid: [
    "metadata:",
    "  annotations:",
    "    dev.pingress.io/endpoint: web.example.com",
  ].join("\n"),
  MappingUnused: "--map default/wbe=127.0.0.1:3000",
  NoParent: [
    "kind: HTTPRoute",
    "spec:",
    "  rules: [ … ]   # and no parentRefs",
  ].join("\n"),
  ParentNotServed: [
    "spec:",
    "  parentRefs:",
    "    - name: gone",
  ].join("\n"),
};
