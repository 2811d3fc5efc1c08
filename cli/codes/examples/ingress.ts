/** Examples of problems of Ingresses: hosts, paths and annotations. In: nothing. Out: by reason, YAML with the mistake, or a situation in a sentence. */

export const INGRESS_EXAMPLES: Readonly<Record<string, string>> = {
  HostInvalid: [
    "spec:",
    "  rules:",
    "    - host: shop_1.example.com",
  ].join("\n"),
  HostNotOwned:
    "An Ingress of namespace team-b with the rule host: shop.example.com, which namespace team-a serves already.",
  HostClaimedByOthers:
    "The Ingress of namespace team-a that serves shop.example.com, while one of team-b has a rule for it.",
  HostNameConflict: [
    "metadata:",
    "  annotations:",
    "    nginx.ingress.kubernetes.io/server-alias: www.example.com   # another Ingress has a rule for it",
  ].join("\n"),
  HostShared:
    "Namespaces team-a and team-b both served shop.example.com when host ownership was enabled.",
  HostAlreadyAssigned: [
    "kind: Namespace",
    "metadata:",
    "  annotations:",
    "    pingress.io/hosts: shop.example.com   # as on an older Namespace",
  ].join("\n"),
  ShareHostInvalid: [
    "metadata:",
    "  annotations:",
    "    pingress.io/share-host-with: Team B",
  ].join("\n"),
  HostNotCanonical: [
    "spec:",
    "  rules:",
    "    - host: Shop.Example.com.   # served as shop.example.com",
  ].join("\n"),
  IngressEmpty: [
    "spec:",
    "  ingressClassName: pingress   # and neither rules nor defaultBackend",
  ].join("\n"),
  PathInvalid: [
    "http:",
    "  paths:",
    "    - path: api   # does not begin with /",
  ].join("\n"),
  PathNotCanonical: [
    "http:",
    "  paths:",
    "    - path: /a/../b   # served as /b",
  ].join("\n"),
  PathDuplicated: [
    "http:",
    "  paths:",
    "    - { path: /api, pathType: Prefix, backend: … }",
    "    - { path: /api, pathType: Prefix, backend: … }",
  ].join("\n"),
  PathConflict:
    "Two Ingresses with the rule shop.example.com and the path /api of type Prefix; the older one is served.",
  PathMatchedLiterally: [
    "http:",
    "  paths:",
    "    - path: /api/(.*)   # without the annotation use-regex",
  ].join("\n"),
  PathPatternUnsupported: [
    "http:",
    "  paths:",
    "    - path: /(?<=a)b   # a lookbehind, with use-regex",
  ].join("\n"),
  PathUnreachable:
    "Paths /api and /api/(.*) of one host with use-regex: the first one takes all requests of the second.",
  PathTypeUnknown: [
    "http:",
    "  paths:",
    "    - { path: /, pathType: prefix, backend: … }",
  ].join("\n"),
  PathsMissing: [
    "spec:",
    "  rules:",
    "    - host: shop.example.com   # without http.paths",
  ].join("\n"),
  DefaultBackendConflict:
    "Two Ingresses of one namespace, each with spec.defaultBackend and no rules.",
  ClassNotFound: [
    "spec:",
    "  ingressClassName: pingres",
  ].join("\n"),
  MultipleDefaultClasses:
    'Two IngressClasses with the annotation ingressclass.kubernetes.io/is-default-class: "true".',
  ProfileUnknown: [
    "kind: IngressClass",
    "metadata:",
    "  annotations:",
    "    pingress.io/profile: traefik",
  ].join("\n"),
  StatusSettingUnknown: [
    "kind: IngressClass",
    "metadata:",
    "  annotations:",
    '    pingress.io/status: "no"',
  ].join("\n"),
  NginxAnnotation: [
    "metadata:",
    "  annotations:",
    '    nginx.ingress.kubernetes.io/limit-rps: "5"   # not supported: the paths return 503',
  ].join("\n"),
  NginxConfigMap: [
    "kind: ConfigMap",
    "data:",
    '  enable-modsecurity: "true"',
  ].join("\n"),
  ConfigMapNotFound:
    "The controller runs with --configmap ingress-nginx/ingress-nginx-controller, and there is none.",
  AnnotationUnknown: [
    "kind: Ingress",
    "metadata:",
    "  annotations:",
    "    pingress.io/accept-unsuported: limit-rps",
  ].join("\n"),
  FieldInvalid: [
    "spec:",
    "  rules: shop.example.com   # a text, not a list",
  ].join("\n"),
  NameInvalid: [
    "metadata:",
    "  name: My_Shop",
  ].join("\n"),
  ObjectDuplicated: "Two documents of kind Service with the same name and namespace.",
  EndpointLimitExceeded:
    "A namespace whose Ingresses name so many ports that its endpoints exceed the limit.",
  ClusterLimitExceeded:
    "An Ingress whose routes, with all others, would no longer fit into a proxy's memory.",
  NamespaceLimitExceeded: "The 10,001st route of a namespace.",
  ObjectTooLarge: "An Ingress with more than 1,000 paths.",
  Quarantined: "An object for which the translation fails by a bug of the controller.",
};
