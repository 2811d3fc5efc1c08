/**
 * What to do about each reason of a problem, whatever the object. In: nothing. Out: one sentence or
 * two a reason, for `pingress codes` and `docs/codes.md`; a test compares it with `reasons.ts`. The
 * problem itself has the remedy with the names of the object.
 */

export const REMEDIES: Readonly<Record<string, string>> = {
  // Hosts and paths
  HostInvalid:
    "Write a DNS name such as app.example.com or *.example.com, without scheme and port.",
  HostNotOwned:
    "Use another host, or have an Ingress of the namespace that owns it carry pingress.io/share-host-with with the name of this namespace.",
  HostClaimedByOthers:
    "No action required. To admit the other namespace, add its name to pingress.io/share-host-with.",
  HostNameConflict: "Remove the name from one of the two Ingresses.",
  HostShared: "Assign the host to one namespace by pingress.io/hosts on its Namespace.",
  HostAlreadyAssigned: "Remove the host from pingress.io/hosts of one of the two Namespaces.",
  ShareHostInvalid: "Write names of namespaces, separated by commas.",
  HostNotCanonical: "Write the host as the message shows it.",
  IngressEmpty: "Add spec.rules or spec.defaultBackend.",
  PathInvalid: "Write an absolute path such as /api, escaped as in a URL.",
  PathNotCanonical: "Write the path as the message shows it.",
  PathDuplicated: "Remove one of the two paths.",
  PathConflict: "Use another host or path, or remove it from one of the two Ingresses.",
  PathMatchedLiterally:
    "Write the path up to the pattern with pathType Prefix. In the profile nginx, set use-regex.",
  PathPatternUnsupported:
    "Rewrite the expression with the syntax that docs/annotations.md describes, or use a Prefix.",
  PathUnreachable: "Remove the path, or make it longer than the one that comes first.",
  PathTypeUnknown: "Write Prefix, Exact or ImplementationSpecific.",
  PathsMissing: "Add http.paths to the rule, or spec.defaultBackend to the Ingress.",
  DefaultBackendConflict: "Remove the default backend of one of the two Ingresses, or add rules.",
  ClassNotFound: "Write the name of an existing IngressClass, or create the IngressClass.",
  MultipleDefaultClasses:
    "Remove ingressclass.kubernetes.io/is-default-class from all IngressClasses but one.",
  ProfileUnknown: "Set pingress.io/profile to nginx, or remove the annotation.",
  StatusSettingUnknown: 'Set pingress.io/status to "on" or "off", or remove the annotation.',
  NginxAnnotation:
    "Follow the remedy of the problem, which is about the value of the annotation; docs/annotations.md has every annotation.",
  NginxConfigMap:
    "Follow the remedy of the problem, which is about the value of the key; docs/configmap.md has every key.",
  ConfigMapNotFound:
    "Create the ConfigMap, write the name of an existing one to --configmap, or grant the controller the right to read it.",
  AnnotationUnknown: "Correct the name of the annotation; docs/annotations.md lists them.",
  FieldInvalid: "Write a value of the type that the message names.",
  NameInvalid: "Write metadata.name in lower-case letters, digits, dashes and dots.",
  ObjectDuplicated: "Remove one of the objects, or rename it.",
  EndpointLimitExceeded:
    "Name fewer ports of large Services in Ingresses and HTTPRoutes, or raise the limit of the controller that the message names.",
  ClusterLimitExceeded:
    "Remove routes or certificates that are not needed, or raise the limits of the proxies.",
  NamespaceLimitExceeded:
    "Remove routes or TLS entries from the namespace, or raise the flag of the controller that the message names.",
  ObjectTooLarge: "Split the object into several smaller ones.",
  Quarantined:
    "Restore the last version of the object that was changed, and report the error of the controller's log as a bug.",
  // Backends
  BackendInvalid: "Write service.name and service.port.number or service.port.name.",
  BackendMissing: "Add a backend to the path, or spec.defaultBackend to the Ingress.",
  BackendNotSupported: "Use a Service as the backend; resource backends are not supported.",
  ServiceNotFound: "Create the Service, or write the name of one that exists in the namespace.",
  ServicePortNotFound: "Add the port to the Service, or write one of its ports.",
  EndpointsMissing:
    "Check whether pods match the selector of the Service and are ready: kubectl get endpointslices.",
  DefaultBackendInvalid: "Name a Service of the namespace that has ready endpoints.",
  EndpointInvalid: "Write an IPv4 or IPv6 address; names need a Service of type ExternalName.",
  EndpointZoneInvalid:
    "Write zones as the nodes have them in the label topology.kubernetes.io/zone, of at most 63 characters, and at most 8 hints.",
  EndpointNotAllowed: "Use the address of a pod, or of a machine that is no node.",
  ExternalNameNotAllowed:
    "Use a Service with a selector or EndpointSlices, or start the controller with " +
    "--allow-external-name.",
  ExternalNameInvalid:
    "Write a DNS name such as api.example.com; for addresses, write an EndpointSlice.",
  BalanceUnknown: "Write a load balancing policy that docs/annotations.md lists.",
  GrpcWebInvalid: 'Write "true" or "false", with quotes.',
  AppProtocolUnknown: "Write http, https, h2c, kubernetes.io/h2c, grpc or grpcs.",
  // TLS to backends
  UpstreamTlsInvalid: "Correct the annotations of the Service, which has the problem itself.",
  UpstreamCaMissing:
    "Reference a Secret with the CA certificate as ca.crt by the annotation that the message names.",
  UpstreamCaInvalid:
    "Reference a Secret of the namespace that has the CA certificate (PEM) as ca.crt.",
  ClientCertificateInvalid: "Reference a Secret of the namespace of type kubernetes.io/tls.",
  UpstreamNameInvalid: "Write the DNS name or IP address that the backend's certificate names.",
  UpstreamVerifyInvalid: 'Write "true" or "false", with quotes.',
  UpstreamUnverified: "Reference the CA of the backend's certificate, and enable verification.",
  UpstreamTlsIgnored:
    "Write appProtocol: https (or grpcs) at the port of the Service, or remove the annotation.",
  UpstreamSecretInvalid:
    "Write namespace/name of a Secret of the Ingress's namespace that has what the message names.",
  UpstreamAnnotationUnknown: "Correct the name of the annotation; docs/annotations.md lists them.",
  // Certificates
  CredentialsInvalid:
    "Write the users with htpasswd -B; the message names the lines that cannot be verified.",
  SecretNotFound:
    "Create the Secret in the namespace of the Ingress, or write the name of an existing one. With cert-manager, check its Certificate.",
  SecretInvalid:
    "Write a certificate and its key as tls.crt and tls.key, both in PEM: kubectl create secret tls.",
  CertificateKeyTooLong: "Reissue the certificate with an RSA key of at most 4,096 bits, or ECDSA.",
  CertificateTooLarge:
    "Write only the server's certificate and its intermediate issuers into tls.crt: at most 100 KiB, and 16 KiB for tls.key.",
  SecretNameMissing: "Add the name of a Secret of type kubernetes.io/tls to the TLS entry.",
  SecretTypeUnexpected:
    "Recreate the Secret with type kubernetes.io/tls, which the API server validates.",
  TlsHostConflict:
    "Reference the same Secret in both Ingresses, or remove the host from one of them.",
  TlsHostWithoutRule: "Add a rule for the host, or remove it from the TLS entry.",
  RedirectSkipped:
    "No action required. To redirect them too, assign the wildcard by pingress.io/hosts on the Namespace.",
  TlsHostsMissing: "List the hosts in the TLS entry.",
  CertificateExpired: "Replace the certificate with a valid one, and check its renewal.",
  CertificateNotYetValid: "Wait until it is valid, or check the clock of whoever has issued it.",
  CertificateChainBroken:
    "Write the server's certificate first, then that of each issuer up to the root's.",
  CertificateWithoutNames: "Reissue the certificate with its names as subjectAltName.",
  CertificateHostMismatch: "Reference a Secret whose certificate names the host.",
  // Proxies
  ProxyAccountMissing:
    "Apply the manifests again, which contain the ServiceAccount of the proxies.",
  ConfigurationRejected:
    "Follow the reason in the message. Usually the proxy is of an older version: check the rollout of the proxies.",
  NoNodeForProxies:
    "Correct the node selector and the tolerations of the pod template, or label a node.",
  ProxyPodRejected:
    "Follow the message of the API server: usually Pod Security, a quota or an admission policy.",
  ProxyNotScheduled: "Add nodes or resources, or lower the requests of the pod template.",
  HostPortConflict:
    "Stop the other pod that uses the ports of the node, such as another ingress controller, or use --backend LoadBalancer.",
  ImagePullFailed: "Correct --proxy-server-image, or name a pull Secret by --image-pull-secret.",
  ProxyNotCreated: "Follow the message of the kubelet, such as a missing volume.",
  ProxyCrashes: "Read the log of the pod before its restart: kubectl logs --previous.",
  ProxiesNotReady: "Read the log of the proxy that the message names, and its /configuration.",
  InvalidProxyArgument: "Correct or remove the --proxy-arg that the message names.",
  InvalidPodTemplate: "Correct the file of --proxy-pod-template where the message says.",
  InvalidWorkload: "Correct the flag or the pod template that sets the field.",
  ImmutableField: "Delete the object; the controller creates it anew.",
  QuotaExceeded: "Raise the ResourceQuota of the namespace, or lower requests and replicas.",
  AdmissionRejected: "Follow the message of the webhook, or exempt the namespace from it.",
  AdmissionUnavailable:
    "Restore the webhook that the message names, or exempt the namespace from it.",
  NotPermitted: "Apply the manifests of this version again, which contain the Roles.",
  NamespaceNotFound: "Create the namespace, or write an existing one to the controller's flags.",
  NamespaceTerminating: "Wait until the namespace is deleted, and create it again.",
  ApiMissing: "Upgrade the cluster to a Kubernetes version that has the kind.",
  // Configuration
  ConfigurationNearlyTooLarge:
    "Remove routes that are not needed, or split the Ingresses among several controllers.",
  ConfigurationTooLarge:
    "Remove routes that are not needed, or split the Ingresses among several controllers.",
  ConfigurationNotPublished: "Apply the manifests of this version again, which contain the Roles.",
  ConfigurationTooLargeForStream:
    "Remove routes that are not needed, or split the Ingresses among several controllers.",
  StreamCaNotStored: "Apply the manifests of this version again, which contain the Roles.",
  ClaimsNotRecorded: "Apply the manifests of this version again, which contain the Roles.",
  ClaimsTooLarge: "Assign hosts to namespaces by wildcards in pingress.io/hosts.",
  KeysTooLarge: "Use ECDSA keys, which are shorter, or fewer certificates.",
};
