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
      "a host is not a name; the rule, its TLS entry, or what `pingress.io/hosts` assigns is left out",
    ],
    [
      "HostNotOwned",
      INGRESS,
      ERROR,
      "the host belongs to [another namespace](tenants.md); the rule or TLS entry is refused",
    ],
    [
      "HostNamedByOthers",
      INGRESS,
      WARNING,
      "an Ingress of another namespace names a host that belongs to this one, and is refused",
    ],
    [
      "HostShared",
      INGRESS,
      WARNING,
      "several namespaces serve the host, as before [host ownership](tenants.md) was turned on",
    ],
    ["HostAssignedTwice", ["Namespace"], ERROR, "an older Namespace has the host already"],
    ["ShareHostInvalid", INGRESS, ERROR, "`pingress.io/share-host-with` does not name a namespace"],
    ["HostNotCanonical", INGRESS, WARNING, "a host is served in another spelling"],
    ["IngressEmpty", INGRESS, ERROR, "it has neither rules nor a default backend"],
    ["PathInvalid", INGRESS, ERROR, "a path cannot be read and is left out"],
    ["PathNotCanonical", INGRESS, WARNING, "a path is served in another spelling"],
    ["PathRepeated", INGRESS, ERROR, "the same host and path stands in the Ingress twice"],
    ["PathTaken", INGRESS, ERROR, "another Ingress has the same host and path"],
    ["PathTakenLiterally", INGRESS, WARNING, "a path looks like a pattern and is not one"],
    ["PathTypeUnknown", INGRESS, ERROR, "the path answers 500"],
    ["PathsMissing", INGRESS, BOTH, "a rule has no paths"],
    ["DefaultBackendTaken", INGRESS, BOTH, "another Ingress has what this one's would take"],
    [
      "ClassNotFound",
      INGRESS,
      WARNING,
      "there is no such IngressClass, and it is none that is served; so the Ingress is not",
    ],
    ["DefaultClassRepeated", ["IngressClass"], WARNING, "several classes are the default one"],
    [
      "NginxAnnotation",
      INGRESS,
      BOTH,
      "an annotation of ingress-nginx has no effect here, or closes its paths",
    ],
    ["AnnotationUnknown", INGRESS, WARNING, "an annotation `pingress.io/…` has no effect there"],
    ["FieldInvalid", INGRESS, ERROR, "a field has another type than it should; it is left out"],
    ["NameInvalid", INGRESS, ERROR, "the object has no name that the API server takes"],
    [
      "ObjectDuplicated",
      ["EndpointSlice", "Ingress", "IngressClass", "Secret", "Service"],
      ERROR,
      "several objects have one name",
    ],
    [
      "EndpointsLeftOut",
      ["Service"],
      ERROR,
      "the backends of its namespace have more endpoints than the [bound](tenants.md#bounds)",
    ],
    [
      "ClusterFull",
      INGRESS,
      ERROR,
      "with it all would take more than [proxies or the published objects hold](tenants.md#bounds); " +
      "what was published of it stays",
    ],
    [
      "NamespaceFull",
      INGRESS,
      ERROR,
      "with it the namespace would be over a [bound](tenants.md#bounds); what was published of it stays",
    ],
    [
      "ObjectTooLarge",
      ["EndpointSlice", "Ingress", "Service"],
      ERROR,
      "it is over a [bound](tenants.md#bounds) of the controller; what was published of an Ingress stays",
    ],
    ["Quarantined", INGRESS, ERROR, "it broke the translation; what was published of it stays"],
  ]],
  ["Backends", [
    ["BackendInvalid", INGRESS, ERROR, "the backend cannot be read; the path answers 500"],
    ["BackendMissing", INGRESS, ERROR, "the path names no backend and answers 503"],
    ["BackendNotSupported", INGRESS, ERROR, "the backend is no Service; the path answers 500"],
    [
      "ServiceNotFound",
      ["Ingress", "Service"],
      BOTH,
      "there is no such Service; the path answers 503. On a Service that is not there it is about " +
      "`--default-backend`, and no Event",
    ],
    ["ServicePortNotFound", INGRESS, BOTH, "the Service has no such port; the path answers 503"],
    ["EndpointsMissing", INGRESS, BOTH, "the Service has no ready endpoint; the path answers 503"],
    ["DefaultBackendUnusable", INGRESS, WARNING, "the Service of default-backend has no endpoint"],
    ["EndpointInvalid", ["EndpointSlice"], ERROR, "an endpoint has no address; it is left out"],
    [
      "EndpointNotAllowed",
      ["EndpointSlice"],
      ERROR,
      "an endpoint leads to the proxy itself or its link; it is left out",
    ],
    [
      "ExternalNameNotAllowed",
      INGRESS,
      ERROR,
      "such a Service is no backend without `--allow-external-name`; the path answers 503",
    ],
    ["ExternalNameInvalid", INGRESS, ERROR, "the external name is none; the path answers 503"],
    ["BalanceUnknown", SERVICE, WARNING, "there is no such way of balancing"],
    ["GrpcWebInvalid", SERVICE, WARNING, "the annotation is neither yes nor no"],
    [
      "AppProtocolUnknown",
      SERVICE,
      WARNING,
      "`appProtocol` of a port is no [protocol](http2.md#to-backends) that is known; HTTP/1.1 in " +
      "plain text is spoken",
    ],
  ]],
  ["TLS to backends", [
    [
      "UpstreamTlsUnusable",
      INGRESS,
      ERROR,
      "the Service's TLS is not usable; the path answers 503",
    ],
    ["UpstreamAuthorityMissing", SERVICE, WARNING, "no authority is named; requests get 502"],
    ["UpstreamAuthorityUnusable", SERVICE, ERROR, "the authority's Secret is not usable"],
    ["ClientCertificateUnusable", SERVICE, ERROR, "the client certificate's Secret is not usable"],
    ["UpstreamNameInvalid", SERVICE, ERROR, "the name to verify is none; requests get 503"],
    ["UpstreamVerifyInvalid", SERVICE, ERROR, "it is neither true nor false and counts as true"],
    [
      "UpstreamUnverified",
      INGRESS_OR_SERVICE,
      WARNING,
      "the backend's certificate is not verified",
    ],
    [
      "UpstreamTlsUnused",
      INGRESS_OR_SERVICE,
      WARNING,
      "an annotation has no effect on a port in plain text",
    ],
    ["UpstreamSecretUnusable", INGRESS, BOTH, "the Secret of proxy-ssl-secret is not usable"],
    ["UpstreamTlsUnknown", SERVICE, WARNING, "there is no such annotation"],
  ]],
  ["Certificates", [
    ["SecretNotFound", ["Ingress", "Secret"], ERROR, "there is no such Secret, so no certificate"],
    ["SecretUnusable", ["Ingress", "Secret"], ERROR, "certificate or key cannot be used"],
    ["CertificateKeyTooLong", SECRET, WARNING, "used on, as it is published; renew it shorter"],
    ["SecretNameMissing", INGRESS, WARNING, "the TLS entry names no Secret"],
    ["SecretTypeUnusual", SECRET, WARNING, "it is not of type `kubernetes.io/tls`"],
    ["TlsHostTaken", INGRESS, ERROR, "another Ingress chooses the host's certificate"],
    [
      "TlsHostWithoutRule",
      INGRESS,
      WARNING,
      "no rule of the namespace takes the host; the certificate is not used for it",
    ],
    [
      "RedirectLeftOut",
      INGRESS,
      WARNING,
      "other namespaces own hosts below the wildcard; plain HTTP to them is not redirected",
    ],
    ["TlsHostsMissing", INGRESS, ERROR, "the TLS entry and its certificate name no host"],
    ["CertificateExpired", ["Ingress", "Secret", "Service"], WARNING, "its time is over"],
    ["CertificateNotYetValid", ["Ingress", "Secret"], WARNING, "its time has not come"],
    ["CertificateChainBroken", SECRET, WARNING, "one of its chain is not signed by the next"],
    ["CertificateWithoutNames", SECRET, WARNING, "it has no subjectAltName of type DNS"],
    [
      "CertificateWithoutHost",
      INGRESS,
      WARNING,
      "it does not name a host that it is used for; plain HTTP is not redirected",
    ],
  ]],
  ["Proxies", [
    [
      "ProxyAccountMissing",
      WORKLOAD,
      BOTH,
      "the proxies' account is not there: no new one can be made, or they live on files alone",
    ],
    [
      "ProxyRefusedConfiguration",
      WORKLOAD,
      ERROR,
      "a proxy does not take what it is sent; it goes on with what it had",
    ],
    ["NoNodeForProxies", ["DaemonSet"], WARNING, "no node is to run one"],
    ["ProxyPodRefused", WORKLOAD, WARNING, "the API server takes no pod"],
    ["ProxyNotScheduled", WORKLOAD, WARNING, "no node takes the pod"],
    ["HostPortTaken", WORKLOAD, WARNING, "another pod has port 80 or 443 of the node"],
    ["ImagePullFailed", WORKLOAD, WARNING, "the image cannot be had"],
    ["ProxyNotCreated", WORKLOAD, WARNING, "the container cannot be made"],
    ["ProxyCrashes", WORKLOAD, WARNING, "it ends again and again"],
    ["ProxiesNotReady", WORKLOAD, WARNING, "not all have been ready for five minutes"],
    ["InvalidProxyArgument", WORKLOAD, ERROR, "`--proxy-arg` cannot be used"],
    ["InvalidPodTemplate", WORKLOAD, ERROR, "`--proxy-pod-template` cannot be used"],
    ["InvalidWorkload", MANAGED, ERROR, "the API server says that the object is not valid"],
    ["ImmutableField", MANAGED, ERROR, "a field cannot be changed in the object that is there"],
    ["QuotaExceeded", MANAGED, ERROR, "a quota of the namespace is used up"],
    ["AdmissionRefused", MANAGED, ERROR, "an admission webhook refuses it"],
    ["AdmissionUnavailable", MANAGED, ERROR, "an admission webhook does not answer"],
    ["NotPermitted", MANAGED, ERROR, "the controller may not write it"],
    ["NamespaceNotFound", MANAGED, ERROR, "the namespace of the proxies is not there"],
    ["NamespaceTerminating", MANAGED, ERROR, "the namespace of the proxies is being deleted"],
    ["ApiMissing", MANAGED, ERROR, "the API server does not know this kind of object"],
  ]],
  ["Configuration", [
    ["ConfigurationNearlyTooLarge", WORKLOAD, WARNING, "it will soon not fit into its objects"],
    ["ConfigurationTooLarge", WORKLOAD, ERROR, "it does not fit; what was published before stays"],
    [
      "ConfigurationNotPublished",
      WORKLOAD,
      ERROR,
      "a permission to write the ConfigMaps or Secrets is missing; what was published before stays, " +
      "and proxies with the stream follow that",
    ],
    [
      "ConfigurationTooLargeForStream",
      WORKLOAD,
      ERROR,
      "it is too large for the stream to proxies; they stay with what they have, or live on files",
    ],
    [
      "StreamAuthorityNotKept",
      WORKLOAD,
      WARNING,
      "the authority that proxies know the stream by cannot be written; they may live on files",
    ],
    [
      "ClaimsNotRecorded",
      WORKLOAD,
      WARNING,
      "claims to hosts cannot be written to `pingress-claims`; after a restart hosts belong to " +
      "those that serve them then",
    ],
    [
      "ClaimsTooLarge",
      WORKLOAD,
      ERROR,
      "claims to hosts do not fit into `pingress-claims`; what was recorded before stays",
    ],
    ["KeysTooLarge", WORKLOAD, ERROR, "the keys do not fit; what was published before stays"],
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
