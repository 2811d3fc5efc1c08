/**
 * What users get wrong. In: a scene whose controller runs. Out: one mistake after the other, each
 * with objects of its own, with what is to be said of it, and with how it is mended.
 */
import type { KubeObject } from "./api_client.ts";
import { type ControllerScene, rule } from "./controller_scene.ts";

export interface Mistake {
  /** Of its Ingress, whose host is `NAME.example.com` unless a mistake is about that. */
  readonly name: string;
  /** What is told, each on the object of that kind and of `name`. */
  readonly told: readonly Told[];
  /** What requests to `NAME.example.com/` get meanwhile. */
  readonly gets: "backend" | 404 | 500 | 503 | "nothing of it";
  readonly make: (scene: ControllerScene, name: string) => Promise<void>;
  /** Without it, the Ingress is written as `ControllerScene.ingress` does. */
  readonly mend?: (scene: ControllerScene, name: string) => Promise<void>;
  /** Whether the host has its certificate afterwards. */
  readonly certificate?: true;
}

export interface Told {
  readonly kind: "Ingress" | "Secret" | "Service";
  readonly reason: string;
  readonly field: string;
  readonly severity: "error" | "warning";
  /** Of the message; what to do must be in it as well. */
  readonly says: RegExp;
}

const CERTIFICATES = new URL("../../golden/certificates/", import.meta.url);

/** One of the golden files. */
export function pem(name: string): string {
  return Deno.readTextFileSync(new URL(name, CERTIFICATES));
}

/** For any host below example.com. */
export const GOOD_PAIR = { "tls.crt": pem("wildcard.crt"), "tls.key": pem("wildcard.key") };

const PATH = "spec.rules[0].http.paths[0]";
const SERVICE_NAME = `${PATH}.backend.service.name`;
const WEB = { service: { name: "web", port: { number: 80 } } };

function error(
  kind: Told["kind"],
  reason: string,
  field: string,
  says: RegExp,
): Told {
  return { kind, reason, field, severity: "error", says };
}

function warning(
  kind: Told["kind"],
  reason: string,
  field: string,
  says: RegExp,
): Told {
  return { kind, reason, field, severity: "warning", says };
}

/** An Ingress whose one path has this backend. */
function toBackend(backend: unknown): Mistake["make"] {
  return (scene, name) =>
    scene.ingress(name, {
      rules: [{
        host: `${name}.example.com`,
        http: { paths: [{ path: "/", pathType: "Prefix", backend }] },
      }],
    });
}

/** An Ingress whose paths these are; the first of them is the one that is wrong. */
function withPaths(...paths: readonly (readonly [path: string, pathType: string])[]) {
  return (scene: ControllerScene, name: string) =>
    scene.ingress(name, {
      rules: [{
        host: `${name}.example.com`,
        http: { paths: paths.map(([path, pathType]) => ({ path, pathType, backend: WEB })) },
      }],
    });
}

function withAnnotations(annotations: Record<string, string>): Mistake["make"] {
  return (scene, name) => scene.ingress(name, {}, { annotations });
}

/** An Ingress with a TLS entry for a Secret of its name. */
function tlsIngress(scene: ControllerScene, name: string): Promise<void> {
  return scene.ingress(name, {
    tls: [{ hosts: [`${name}.example.com`], secretName: name }],
  });
}

/** A Secret that is not as it should be, and an Ingress that names it. */
function withSecret(data: Record<string, string>, type = "kubernetes.io/tls"): Mistake["make"] {
  return async (scene, name) => {
    await scene.tlsSecret(name, data, type);
    await tlsIngress(scene, name);
  };
}

/** As `kubectl replace --force` does, since a type cannot be changed. */
async function replaceSecret(scene: ControllerScene, name: string): Promise<void> {
  await scene.cluster.delete("v1", "Secret", name, scene.app);
  await scene.tlsSecret(name, GOOD_PAIR);
}

/** A Service that is spoken to by TLS, with these annotations, and an Ingress that names it. */
function withSecuredService(annotations: Record<string, string>): Mistake["make"] {
  return async (scene, name) => {
    await scene.service(name);
    await scene.cluster.apply(
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, annotations },
        spec: { ports: [{ name: "http", port: 80, appProtocol: "https" }] },
      } as Partial<KubeObject>,
      { namespace: scene.app },
    );
    await toBackend({ service: { name, port: { number: 80 } } })(scene, name);
  };
}

/** A Service in plain text. */
function mendService(scene: ControllerScene, name: string): Promise<void> {
  return scene.service(name);
}

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
        /no name that a certificate can be for.*Write the DNS name/,
      ),
      error("Ingress", "UpstreamTlsUnusable", SERVICE_NAME, /Mend the annotations/),
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
        "UpstreamTlsUnknown",
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
        "SecretUnusable",
        "spec.tls[0].secretName",
        new RegExp(`cannot be used: .*${says.source}.*Write into the Secret a PEM chain`),
      ),
      error(
        "Secret",
        "SecretUnusable",
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
        "CertificateWithoutHost",
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
      warning("Secret", "SecretTypeUnusual", "type", /"Opaque" .*Make it anew with type/),
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
        "CertificateWithoutHost",
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
      warning("Ingress", "PathTakenLiterally", `${PATH}.path`, /looks like a pattern.*Write/),
    ],
    gets: "backend",
    make: withPaths(["/api(/|$)(.*)", "ImplementationSpecific"], ["/", "Prefix"]),
  },
  {
    name: "path-twice",
    told: [
      error(
        "Ingress",
        "PathRepeated",
        "spec.rules[0].http.paths[1].path",
        /in this Ingress already, at spec\.rules\[0\]\.http\.paths\[0\].*Take one/,
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
        /would refuse are let through.*do not publish/,
      ),
    ],
    gets: "backend",
    make: withAnnotations({ "nginx.ingress.kubernetes.io/whitelist-source-range": GARBAGE }),
  },
  {
    name: "annotation-of-ours",
    told: [
      warning(
        "Ingress",
        "AnnotationUnknown",
        'metadata.annotations["pingress.io/rewrite-target"]',
        /no effect.*Take the annotation off/,
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

/** What the API server itself refuses, so that nobody has to be told later. */
export const REFUSED: readonly (readonly [what: string, spec: Record<string, unknown>])[] = [
  ...[
    "bad_host.example.com",
    "Upper.example.com",
    "two..dots.example.com",
    "-dash.example.com",
    "app.example.com:8080",
    "https://app.example.com",
    "app.*.example.com",
    "*",
    "192.0.2.7",
    "bücher.example.com",
    "a b.example.com",
    "a\r\nb.example.com",
    "a\u0000b.example.com",
    "app.example.com.",
    `${"a".repeat(254)}`,
  ].map((host) =>
    [
      `host ${JSON.stringify(host).slice(0, 40)}`,
      { rules: [rule(host, "/", "web")] },
    ] as const
  ),
  ...["relative", "/a//b", "/a/./b", "/a/../b", "/a%2fb"].map((path) =>
    [`path ${path}`, { rules: [rule("refused.example.com", path, "web")] }] as const
  ),
  ["a Service's name", { rules: [rule("refused.example.com", "/", "Not_A_Name")] }],
  ["a port of 0", { rules: [rule("refused.example.com", "/", "web", { number: 0 })] }],
  ["a port's name", { rules: [rule("refused.example.com", "/", "web", { name: "a_b" })] }],
  ["a port of both", {
    rules: [rule("refused.example.com", "/", "web", { name: "http", number: 80 })],
  }],
  ["no rules", { rules: [] }],
  ["a Secret's name", { tls: [{ hosts: ["refused.example.com"], secretName: "Not_A_Name" }] }],
  ["a TLS host", { tls: [{ hosts: ["bad_host"], secretName: "web" }] }],
];
