/**
 * What users get wrong. In: nothing. Out: one mistake after the other, with what is to be said of it,
 * and with how it is mended.
 */
import type { KubeObject } from "./api_client.ts";
import {
  endpointsAt,
  error,
  GOOD_PAIR,
  mendService,
  type Mistake,
  PATH,
  pem,
  replaceSecret,
  SERVICE_NAME,
  tlsIngress,
  toBackend,
  warning,
  withAnnotations,
  withPaths,
  withSecret,
  withSecuredService,
} from "./mistake.ts";

/** What control characters and colours a message must not pass on. */
const GARBAGE = 'maybe\r\n\u001b[31m\u0000\u2028\u202e"}{';

export const MISTAKES: readonly Mistake[] = [
  {
    name: "service-missing",
    told: [
      error("Ingress", "ServiceNotFound", SERVICE_NAME, /no Service service-missing .*Create/),
    ],
    gets: 503,
    make: toBackend({ service: { name: "service-missing", port: { number: 80 } } }),
    mend: mendService,
  },
  {
    name: "port-number-missing",
    told: [
      error(
        "Ingress",
        "ServicePortNotFound",
        `${PATH}.backend.service.port.number`,
        /Service web has no TCP port 8081.*Write one of its ports: 80/,
      ),
    ],
    gets: 503,
    make: toBackend({ service: { name: "web", port: { number: 8081 } } }),
  },
  {
    name: "port-name-missing",
    told: [
      error(
        "Ingress",
        "ServicePortNotFound",
        `${PATH}.backend.service.port.name`,
        /Service web has no TCP port metrics.*Write one of its ports: .*http/,
      ),
    ],
    gets: 503,
    make: toBackend({ service: { name: "web", port: { name: "metrics" } } }),
  },
  {
    name: "endpoints-missing",
    told: [
      error("Ingress", "EndpointsMissing", SERVICE_NAME, /no endpoints .*kubectl -n \S+ get/),
    ],
    gets: "backend",
    async make(scene, name) {
      await scene.service(name, []);
      await toBackend({ service: { name, port: { number: 80 } } })(scene, name);
    },
    mend: mendService,
  },
  {
    name: "external-name",
    told: [
      error("Ingress", "ExternalNameNotAllowed", SERVICE_NAME, /--allow-external-name/),
    ],
    gets: 503,
    async make(scene, name) {
      await scene.cluster.apply(
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name },
          spec: { type: "ExternalName", externalName: "169.254.169.254.nip.io" },
        } as Partial<KubeObject>,
        { namespace: scene.app },
      );
      await toBackend({ service: { name, port: { number: 80 } } })(scene, name);
    },
  },
  {
    name: "endpoint-of-no-pod",
    told: [
      error(
        "EndpointSlice",
        "EndpointNotAllowed",
        "endpoints[0].addresses[0]",
        /"239\.1\.1\.1" is a multicast address.*Use the address of a pod/,
      ),
      error(
        "Ingress",
        "EndpointsMissing",
        SERVICE_NAME,
        /no usable address.*Check whether its pods/,
      ),
    ],
    gets: "backend",
    async make(scene, name) {
      await scene.service(name, []);
      await scene.cluster.apply(endpointsAt(name, "239.1.1.1"), { namespace: scene.app });
      await toBackend({ service: { name, port: { number: 80 } } })(scene, name);
    },
    async mend(scene, name) {
      await scene.cluster.apply(endpointsAt(name, "10.0.0.7"), { namespace: scene.app });
    },
  },
  {
    name: "backend-resource",
    told: [
      error("Ingress", "BackendNotSupported", `${PATH}.backend.resource`, /not supported.*Write/),
    ],
    gets: 500,
    make: toBackend({ resource: { apiGroup: "example.com", kind: "Bucket", name: "static" } }),
  },
  {
    name: "backend-tls-name",
    told: [
      error(
        "Service",
        "UpstreamNameInvalid",
        'metadata.annotations["pingress.io/upstream-tls-name"]',
        /not a valid name in a certificate.*Write the DNS name/,
      ),
      error("Ingress", "UpstreamTlsInvalid", SERVICE_NAME, /Correct the annotations/),
    ],
    gets: 503,
    make: withSecuredService({ "pingress.io/upstream-tls-name": GARBAGE }),
    mend: mendService,
  },
  {
    name: "backend-tls-verify",
    told: [
      error(
        "Service",
        "UpstreamVerifyInvalid",
        'metadata.annotations["pingress.io/upstream-tls-verify"]',
        /neither "true" nor "false".*Write/,
      ),
    ],
    gets: "backend",
    make: withSecuredService({ "pingress.io/upstream-tls-verify": GARBAGE }),
    mend: mendService,
  },
  {
    name: "backend-tls-misspelt",
    told: [
      warning(
        "Service",
        "UpstreamAnnotationUnknown",
        'metadata.annotations["pingress.io/upstream-tls-nmae"]',
        /no annotation .*Write one of/,
      ),
    ],
    gets: "backend",
    make: withSecuredService({ "pingress.io/upstream-tls-nmae": "web" }),
    mend: mendService,
  },
  {
    name: "secret-missing",
    told: [
      error(
        "Ingress",
        "SecretNotFound",
        "spec.tls[0].secretName",
        /no Secret "secret-missing" .*Create/,
      ),
    ],
    gets: "backend",
    make: tlsIngress,
    mend: replaceSecret,
    certificate: true,
  },
  ...([
    ["secret-without-key", { "tls.crt": pem("app.crt") }, "Opaque", /it has no tls\.key/],
    [
      "secret-with-empty-key",
      { "tls.crt": pem("app.crt"), "tls.key": "" },
      "kubernetes.io/tls",
      /it has no tls\.key/,
    ],
    [
      "secret-with-another-key",
      { "tls.crt": pem("app.crt"), "tls.key": pem("renewed.key") },
      "kubernetes.io/tls",
      /key/,
    ],
    [
      "secret-with-half-a-pem",
      { "tls.crt": pem("half.crt"), "tls.key": pem("app.key") },
      "kubernetes.io/tls",
      /tls\.crt/,
    ],
    [
      "secret-with-half-a-key",
      { "tls.crt": pem("app.crt"), "tls.key": pem("app.key").slice(0, 100) },
      "kubernetes.io/tls",
      /tls\.key/,
    ],
  ] as const).map(([name, data, type, says]): Mistake => ({
    name,
    told: [
      error(
        "Ingress",
        "SecretInvalid",
        "spec.tls[0].secretName",
        new RegExp(`cannot be used: .*${says.source}.*Write into the Secret a PEM chain`),
      ),
      error(
        "Secret",
        "SecretInvalid",
        `data["${name.endsWith("pem") ? "tls.crt" : "tls.key"}"]`,
        new RegExp(`${says.source}.*Write a PEM chain`),
      ),
    ],
    gets: "backend",
    make: withSecret(data, type),
    mend: replaceSecret,
    certificate: true,
  })),
  {
    name: "secret-expired",
    told: [
      warning(
        "Secret",
        "CertificateExpired",
        'data["tls.crt"]',
        /expired on 2002-01-01.*Replace the certificate/,
      ),
      warning(
        "Ingress",
        "CertificateExpired",
        "spec.tls[0].secretName",
        /certificate of Secret secret-expired has expired on 2002-01-01.*Replace the certificate/,
      ),
      warning(
        "Ingress",
        "CertificateHostMismatch",
        "spec.tls[0].hosts[0]",
        /does not name secret-expired.*that one is for app\.example\.com/,
      ),
    ],
    gets: "backend",
    make: withSecret({ "tls.crt": pem("expired.crt"), "tls.key": pem("expired.key") }),
    mend: replaceSecret,
    certificate: true,
  },
  {
    name: "secret-of-another-type",
    told: [
      warning("Secret", "SecretTypeUnexpected", "type", /"Opaque" .*Recreate it with type/),
    ],
    gets: "backend",
    make: withSecret(GOOD_PAIR, "Opaque"),
    mend: replaceSecret,
    certificate: true,
  },
  {
    name: "secret-for-another-host",
    told: [
      warning(
        "Ingress",
        "CertificateHostMismatch",
        "spec.tls[0].hosts[0]",
        /does not name secret-for-another-host.*that one is for/,
      ),
    ],
    gets: "backend",
    make: withSecret({ "tls.crt": pem("two.crt"), "tls.key": pem("two.key") }),
    mend: replaceSecret,
    certificate: true,
  },
  {
    name: "secret-without-a-name",
    told: [
      warning("Ingress", "SecretNameMissing", "spec.tls[0].secretName", /names no Secret.*Add/),
    ],
    gets: "backend",
    make: (scene, name) => scene.ingress(name, { tls: [{ hosts: [`${name}.example.com`] }] }),
  },
  {
    name: "tls-host-is-an-address",
    told: [
      error("Ingress", "HostInvalid", "spec.tls[0].hosts[0]", /IP address.*Write a name/),
    ],
    gets: "backend",
    make: (scene, name) =>
      scene.ingress(name, { tls: [{ hosts: ["192.0.2.7"], secretName: "neighbour" }] }),
  },
  {
    name: "path-with-control-characters",
    told: [error("Ingress", "PathInvalid", `${PATH}.path`, /control byte.*Write an absolute/)],
    gets: "backend",
    make: withPaths(["/a\u0007\r\nb", "ImplementationSpecific"], ["/", "Prefix"]),
  },
  {
    name: "path-above-the-root",
    told: [error("Ingress", "PathInvalid", `${PATH}.path`, /above the root.*Write an absolute/)],
    gets: "backend",
    make: withPaths(["/../admin", "ImplementationSpecific"], ["/", "Prefix"]),
  },
  {
    name: "path-with-half-an-escape",
    told: [error("Ingress", "PathInvalid", `${PATH}.path`, /broken escape.*Write an absolute/)],
    gets: "backend",
    make: withPaths(["/50%", "Prefix"], ["/", "Prefix"]),
  },
  {
    name: "path-in-another-spelling",
    told: [
      warning("Ingress", "PathNotCanonical", `${PATH}.path`, /served as "\/~user".*Write/),
    ],
    gets: "backend",
    make: withPaths(["/%7euser", "Prefix"], ["/", "Prefix"]),
  },
  {
    name: "path-that-is-a-pattern",
    told: [
      warning("Ingress", "PathMatchedLiterally", `${PATH}.path`, /looks like a pattern.*Write/),
    ],
    gets: "backend",
    make: withPaths(["/api(/|$)(.*)", "ImplementationSpecific"], ["/", "Prefix"]),
  },
  {
    name: "path-twice",
    told: [
      error(
        "Ingress",
        "PathDuplicated",
        "spec.rules[0].http.paths[1].path",
        /in this Ingress already, at spec\.rules\[0\]\.http\.paths\[0\].*Remove one of the two/,
      ),
    ],
    gets: "backend",
    make: withPaths(["/", "Prefix"], ["/", "ImplementationSpecific"]),
  },
  {
    name: "rule-without-paths",
    told: [warning("Ingress", "PathsMissing", "spec.rules[0].http", /no paths.*Add http\.paths/)],
    gets: 404,
    make: (scene, name) => scene.ingress(name, { rules: [{ host: `${name}.example.com` }] }),
  },
  {
    name: "annotation-of-nginx",
    told: [
      error(
        "Ingress",
        "NginxAnnotation",
        'metadata.annotations["nginx.ingress.kubernetes.io/whitelist-source-range"]',
        /not valid.*so its paths return 503.*Correct the value \(expected: addresses and networks/,
      ),
    ],
    gets: 503,
    make: withAnnotations({ "nginx.ingress.kubernetes.io/whitelist-source-range": GARBAGE }),
  },
  {
    name: "annotation-of-ours",
    told: [
      warning(
        "Ingress",
        "AnnotationUnknown",
        'metadata.annotations["pingress.io/rewrite-target"]',
        /no effect.*Remove the annotation/,
      ),
    ],
    gets: "backend",
    make: withAnnotations({ "pingress.io/rewrite-target": GARBAGE }),
  },
  {
    name: "annotation-of-a-service",
    told: [
      warning(
        "Ingress",
        "AnnotationUnknown",
        'metadata.annotations["pingress.io/upstream-tls-verify"]',
        /no effect.*on the Service/,
      ),
    ],
    gets: "backend",
    make: withAnnotations({ "pingress.io/upstream-tls-verify": "false" }),
  },
  {
    name: "class-missing",
    told: [
      warning("Ingress", "ClassNotFound", "spec.ingressClassName", /"pingres".*Write pingress/),
    ],
    gets: "nothing of it",
    make: (scene, name) => scene.ingress(name, { ingressClassName: "pingres" }),
  },
];
