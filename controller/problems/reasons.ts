/**
 * Every reason of a problem that the controller tells of. In: nothing. Out: on which objects each
 * stands and what it means, for `docs/status.md`; a test compares it with the code.
 */
import type { Problem } from "../../shared/problem.ts";

export interface ProblemReason {
  readonly reason: string;
  /** Kinds of objects that have it; none for one that no object has. */
  readonly kinds: readonly string[];
  readonly severities: readonly Problem["severity"][];
  /** What is wrong, and what follows from it; a clause. */
  readonly meaning: string;
}

const INGRESS = ["Ingress"];
const SECRET = ["Secret"];
const SERVICE = ["Service"];
const INGRESS_OR_SERVICE = ["Ingress", "Service"];
const WORKLOAD = ["DaemonSet", "Deployment"];
const MANAGED = [...WORKLOAD, "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"];

type Row = readonly [
  reason: string,
  kinds: readonly string[],
  severities: readonly Problem["severity"][],
  meaning: string,
];

const ERROR = ["error"] as const;
const WARNING = ["warning"] as const;
const BOTH = ["error", "warning"] as const;

/** By subject, in the order of the page. */
const SECTIONS: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  ["Hosts and paths", [
    [
      "HostInvalid",
      ["Ingress", "Namespace"],
      ERROR,
      "a host is not a valid name; the rule, TLS entry or assignment in `pingress.io/hosts` is ignored",
    ],
    [
      "HostNotOwned",
      INGRESS,
      ERROR,
      "the host belongs to [another namespace](tenants.md); the rule or TLS entry is rejected",
    ],
    [
      "HostClaimedByOthers",
      INGRESS,
      WARNING,
      "an Ingress of another namespace names a host of this one, and is rejected",
    ],
    [
      "HostNameConflict",
      INGRESS,
      WARNING,
      "another name of a host, by an annotation, is that of something else, and is not served",
    ],
    [
      "HostShared",
      INGRESS,
      WARNING,
      "several namespaces serve the host, as before [host ownership](tenants.md) was enabled",
    ],
    ["HostAlreadyAssigned", ["Namespace"], ERROR, "an older Namespace is assigned the host"],
    ["ShareHostInvalid", INGRESS, ERROR, "`pingress.io/share-host-with` does not name a namespace"],
    ["HostNotCanonical", INGRESS, WARNING, "a host is served in its canonical form"],
    ["IngressEmpty", INGRESS, ERROR, "it has neither rules nor a default backend"],
    ["PathInvalid", INGRESS, ERROR, "a path is not valid and is ignored"],
    ["PathNotCanonical", INGRESS, WARNING, "a path is served in its canonical form"],
    ["PathDuplicated", INGRESS, ERROR, "the Ingress has the same host and path twice"],
    ["PathConflict", INGRESS, ERROR, "another Ingress has the same host and path"],
    [
      "PathMatchedLiterally",
      INGRESS,
      WARNING,
      "a path looks like a pattern, but is matched literally",
    ],
    [
      "PathPatternUnsupported",
      INGRESS,
      ERROR,
      "a [regular expression](annotations.md#regular-expressions) cannot be matched here; the path returns 500",
    ],
    [
      "PathUnreachable",
      INGRESS,
      WARNING,
      "another path of the host takes the same requests and comes first, as in ingress-nginx",
    ],
    ["PathTypeUnknown", INGRESS, ERROR, "the pathType is unknown; the path returns 500"],
    ["PathsMissing", INGRESS, BOTH, "a rule has no paths"],
    [
      "DefaultBackendConflict",
      INGRESS,
      BOTH,
      "another Ingress has a default backend for the same requests",
    ],
    [
      "ClassNotFound",
      INGRESS,
      WARNING,
      "the IngressClass does not exist, so the Ingress is not served",
    ],
    [
      "MultipleDefaultClasses",
      ["IngressClass"],
      WARNING,
      "several IngressClasses are marked as default",
    ],
    ["ProfileUnknown", ["IngressClass"], WARNING, "`pingress.io/profile` names no known profile"],
    [
      "StatusSettingUnknown",
      ["IngressClass"],
      WARNING,
      "`pingress.io/status` is neither `on` nor `off`, so addresses are written",
    ],
    [
      "NginxAnnotation",
      INGRESS,
      BOTH,
      "an annotation of ingress-nginx has no effect here, or closes its paths",
    ],
    [
      "NginxConfigMap",
      ["ConfigMap"],
      BOTH,
      "a key of [ingress-nginx's ConfigMap](configmap.md) has no effect here, or closes all paths " +
      "of the profile nginx",
    ],
    [
      "ConfigMapNotFound",
      ["ConfigMap"],
      ERROR,
      "the [ConfigMap of `--configmap`](configmap.md) cannot be read; all paths of the profile " +
      "nginx are closed, or keep its last settings",
    ],
    ["AnnotationUnknown", INGRESS, WARNING, "an annotation `pingress.io/…` has no effect there"],
    ["FieldInvalid", INGRESS, ERROR, "a field has the wrong type and is ignored"],
    ["NameInvalid", INGRESS, ERROR, "the object's name is not valid in Kubernetes"],
    [
      "ObjectDuplicated",
      ["EndpointSlice", "Ingress", "IngressClass", "Secret", "Service"],
      ERROR,
      "several objects have the same name",
    ],
    [
      "EndpointLimitExceeded",
      ["Service"],
      BOTH,
      "the backends of the namespace have more endpoints than the [limit](tenants.md#bounds); some get no requests, or they are used from all zones",
    ],
    [
      "ClusterLimitExceeded",
      ["Ingress", "Secret", "Service"],
      BOTH,
      "with it the configuration would exceed the [capacity of proxies or of the published objects](tenants.md#bounds); its published configuration or certificate stays active; paths that an Ingress protects more now, and new backends with a CA, return 503",
    ],
    [
      "NamespaceLimitExceeded",
      INGRESS,
      ERROR,
      "with it the namespace would exceed a [limit](tenants.md#bounds); its published configuration stays active, and paths that it protects more now return 503",
    ],
    [
      "ObjectTooLarge",
      ["BackendTLSPolicy", "EndpointSlice", "Ingress", "ReferenceGrant", "Service"],
      ERROR,
      "it exceeds a [limit](tenants.md#bounds) of the controller; the published configuration of an Ingress stays active, and paths that it protects more now return 503",
    ],
    [
      "Quarantined",
      ["Gateway", "HTTPRoute", "Ingress"],
      ERROR,
      "translating it, or many objects of its namespace, failed; its published configuration, or that of all Gateways, stays active",
    ],
  ]],
  ["Backends", [
    ["BackendInvalid", INGRESS, ERROR, "the backend is not valid; the path returns 500"],
    ["BackendMissing", INGRESS, ERROR, "the path has no backend and returns 503"],
    ["BackendNotSupported", INGRESS, ERROR, "the backend is not a Service; the path returns 500"],
    [
      "ServiceNotFound",
      ["Ingress", "Service"],
      BOTH,
      "the Service does not exist; the path returns 503. On a Service it is about " +
      "`--default-backend`, and no Event",
    ],
    ["ServicePortNotFound", INGRESS, BOTH, "the Service has no such port; the path returns 503"],
    ["EndpointsMissing", INGRESS, BOTH, "the Service has no ready endpoint; the path returns 503"],
    [
      "DefaultBackendInvalid",
      INGRESS,
      WARNING,
      "the Service of the annotation default-backend has no endpoint",
    ],
    [
      "EndpointInvalid",
      ["EndpointSlice"],
      ERROR,
      "an endpoint has no valid address and is ignored",
    ],
    [
      "EndpointZoneInvalid",
      ["EndpointSlice"],
      WARNING,
      "the zone or the hints of an endpoint are no names of zones and are ignored",
    ],
    [
      "EndpointNotAllowed",
      ["EndpointSlice"],
      ERROR,
      "an endpoint is the proxy itself, or has a link-local or reserved address, and is ignored",
    ],
    [
      "ExternalNameNotAllowed",
      INGRESS,
      BOTH,
      "Services of type ExternalName require `--allow-external-name`; the path returns 503; hosts of `auth-url` outside the cluster require it too, and are a warning, as is a host that may be a Service",
    ],
    [
      "ExternalNameInvalid",
      INGRESS,
      ERROR,
      "the external name is not a DNS name; the path returns 503",
    ],
    ["BalanceUnknown", SERVICE, WARNING, "the load balancing policy is unknown"],
    ["GrpcWebInvalid", SERVICE, WARNING, "the annotation is neither true nor false"],
    [
      "AppProtocolUnknown",
      SERVICE,
      WARNING,
      "`appProtocol` of a port is not a supported [protocol](http2.md#to-backends); HTTP/1.1 without TLS is used",
    ],
  ]],
  ["TLS to backends", [
    [
      "UpstreamTlsInvalid",
      INGRESS,
      ERROR,
      "the TLS settings of the Service are not valid; the path returns 503",
    ],
    [
      "UpstreamCaMissing",
      SERVICE,
      WARNING,
      "the CA of the backend's certificate is not configured; requests get 502",
    ],
    ["UpstreamCaInvalid", SERVICE, ERROR, "the Secret with the CA is not valid"],
    [
      "ClientCertificateInvalid",
      SERVICE,
      ERROR,
      "the Secret with the client certificate is not valid",
    ],
    ["UpstreamNameInvalid", SERVICE, ERROR, "the name to verify is not valid; requests get 503"],
    [
      "UpstreamVerifyInvalid",
      SERVICE,
      ERROR,
      "the value is neither true nor false, so certificates are verified",
    ],
    [
      "UpstreamUnverified",
      INGRESS_OR_SERVICE,
      WARNING,
      "the backend's certificate is not verified",
    ],
    [
      "UpstreamTlsIgnored",
      INGRESS_OR_SERVICE,
      WARNING,
      "an annotation has no effect on a port without TLS",
    ],
    ["UpstreamSecretInvalid", INGRESS, BOTH, "the Secret of proxy-ssl-secret is not usable"],
    ["UpstreamAnnotationUnknown", SERVICE, WARNING, "the annotation is unknown"],
  ]],
  ["Certificates", [
    [
      "CredentialsInvalid",
      INGRESS,
      BOTH,
      "passwords cannot be verified: of some users, or, as an error, of any, so requests get 503",
    ],
    [
      "SecretNotFound",
      ["Ingress", "Secret"],
      ERROR,
      "there is no such Secret, so no certificate, or no login",
    ],
    ["SecretInvalid", ["Ingress", "Secret"], ERROR, "certificate or key is not valid"],
    [
      "CertificateKeyTooLong",
      ["Ingress", "Secret", "Service"],
      WARNING,
      "the published certificate stays in use; reissue it with a shorter key",
    ],
    [
      "CertificateTooLarge",
      SECRET,
      WARNING,
      "the published certificate stays in use; remove certificates that clients do not need from tls.crt",
    ],
    ["SecretNameMissing", INGRESS, WARNING, "the TLS entry references no Secret"],
    ["SecretTypeUnexpected", SECRET, WARNING, "the type is not `kubernetes.io/tls`"],
    ["TlsHostConflict", INGRESS, ERROR, "another Ingress determines the certificate of the host"],
    [
      "TlsHostWithoutRule",
      INGRESS,
      WARNING,
      "no rule of the namespace has the host, so the certificate is not used for it",
    ],
    [
      "RedirectSkipped",
      INGRESS,
      WARNING,
      "other namespaces own hosts below the wildcard; plain HTTP to them is not redirected",
    ],
    ["TlsHostsMissing", INGRESS, ERROR, "neither the TLS entry nor its certificate names a host"],
    [
      "CertificateExpired",
      ["Ingress", "Secret", "Service"],
      WARNING,
      "the certificate has expired",
    ],
    ["CertificateNotYetValid", ["Ingress", "Secret"], WARNING, "the certificate is not valid yet"],
    [
      "CertificateChainBroken",
      SECRET,
      WARNING,
      "a certificate of the chain is not signed by the next",
    ],
    ["CertificateWithoutNames", SECRET, WARNING, "it has no subjectAltName of type DNS"],
    [
      "CertificateHostMismatch",
      INGRESS,
      WARNING,
      "the certificate does not name a host that it is used for; plain HTTP is not redirected",
    ],
  ]],
  ["Proxies", [
    [
      "ProxyAccountMissing",
      WORKLOAD,
      BOTH,
      "the service account of the proxies is missing: no new proxy can be created, or proxies use mounted files only",
    ],
    [
      "ConfigurationRejected",
      WORKLOAD,
      ERROR,
      "a proxy rejects the configuration and continues with its previous one",
    ],
    [
      "NoNodeForProxies",
      ["DaemonSet"],
      WARNING,
      "no node matches the proxies' node selector and tolerations",
    ],
    ["ProxyPodRejected", WORKLOAD, WARNING, "the API server rejects the pods"],
    ["ProxyNotScheduled", WORKLOAD, WARNING, "no node accepts the pod"],
    ["HostPortConflict", WORKLOAD, WARNING, "another pod uses port 80 or 443 of the node"],
    ["ImagePullFailed", WORKLOAD, WARNING, "the image cannot be pulled"],
    ["ProxyNotCreated", WORKLOAD, WARNING, "the container cannot be created"],
    ["ProxyCrashes", WORKLOAD, WARNING, "the container keeps crashing"],
    ["ProxiesNotReady", WORKLOAD, WARNING, "a proxy has not been ready for five minutes"],
    ["InvalidProxyArgument", WORKLOAD, ERROR, "`--proxy-arg` is not valid"],
    ["InvalidPodTemplate", WORKLOAD, ERROR, "`--proxy-pod-template` is not valid"],
    ["InvalidWorkload", MANAGED, ERROR, "the API server rejects the object as invalid"],
    ["ImmutableField", MANAGED, ERROR, "a field of the existing object cannot be changed"],
    ["QuotaExceeded", MANAGED, ERROR, "a quota of the namespace is exhausted"],
    ["AdmissionRejected", MANAGED, ERROR, "an admission webhook rejects the object"],
    ["AdmissionUnavailable", MANAGED, ERROR, "an admission webhook does not respond"],
    ["NotPermitted", MANAGED, ERROR, "the controller lacks permission to write the object"],
    ["NamespaceNotFound", MANAGED, ERROR, "the namespace of the proxies does not exist"],
    ["NamespaceTerminating", MANAGED, ERROR, "the namespace of the proxies is being deleted"],
    ["ApiMissing", MANAGED, ERROR, "the API server does not know this kind of object"],
  ]],
  ["Configuration", [
    [
      "ConfigurationNearlyTooLarge",
      WORKLOAD,
      WARNING,
      "the configuration is close to the size limit of its objects",
    ],
    [
      "ConfigurationTooLarge",
      WORKLOAD,
      ERROR,
      "the configuration does not fit into its objects; the last published one stays active",
    ],
    [
      "ConfigurationNotPublished",
      WORKLOAD,
      ERROR,
      "a permission to write the ConfigMaps or Secrets is missing; the last published configuration stays active, also for proxies with the stream",
    ],
    [
      "ConfigurationTooLargeForStream",
      WORKLOAD,
      ERROR,
      "the configuration exceeds the limit of the stream; proxies keep theirs, or use mounted files",
    ],
    [
      "StreamCaNotStored",
      WORKLOAD,
      WARNING,
      "the CA of the stream cannot be stored; proxies may use mounted files only",
    ],
    [
      "ClaimsNotRecorded",
      WORKLOAD,
      WARNING,
      "host claims cannot be written to `pingress-claims`; after a restart, hosts belong to the namespaces that serve them then",
    ],
    [
      "ClaimsTooLarge",
      WORKLOAD,
      ERROR,
      "host claims do not fit into `pingress-claims`; the newest of the largest namespaces are left out",
    ],
    [
      "KeysTooLarge",
      WORKLOAD,
      ERROR,
      "the private keys do not fit into their Secrets; the last published configuration stays active",
    ],
  ]],
];

export interface ReasonSection {
  readonly title: string;
  readonly reasons: readonly ProblemReason[];
}

export const REASON_SECTIONS: readonly ReasonSection[] = SECTIONS.map(([title, rows]) => ({
  title,
  reasons: rows.map(([reason, kinds, severities, meaning]) => ({
    reason,
    kinds,
    severities,
    meaning,
  })),
}));

export const PROBLEM_REASONS: readonly ProblemReason[] = REASON_SECTIONS.flatMap(
  ({ reasons }) => reasons,
);
