/**
 * Small clusters that have everything. In: nothing. Out: objects of every kind with conflicts,
 * mistakes and certificates, those of one more tenant, and the same with a field of any shape.
 */
import type { Ingress, Resources, Service } from "../../controller/kube/resources.ts";

/** Every kind of object, with conflicts, mistakes and certificates. */
export function richResources(): Resources {
  const old = "2020-01-01T00:00:00Z";
  const middle = "2021-01-01T00:00:00Z";
  return {
    ingresses: [
      ingress("web", "team-a", ["app.example.com", "/", "web"], {
        at: old,
        tls: [{ hosts: ["app.example.com"], secretName: "app-tls" }],
      }),
      ingress("taken", "team-a", ["app.example.com", "/", "api"], { at: middle }),
      ingress("api", "team-b", ["app.example.com", "/api", "api"], {
        at: middle,
        tls: [{ hosts: ["app.example.com"], secretName: "other-tls" }],
      }),
      ingress("wild", "team-b", ["*.example.com", "/", "api"], {
        tls: [{ secretName: "wildcard-tls" }],
      }),
      ingress("same-age-b", "team-a", ["same.example.com", "/x", "web"]),
      ingress("same-age-a", "team-a", ["same.example.com", "/x", "web"]),
      ingress("any", "team-a", [undefined, "/any", "web"], { default: "api" }),
      ingress("broken", "team-a", ["broken.example.com", "/a%zz", "web"]),
      ingress("gone", "team-a", ["gone.example.com", "/", "gone"]),
      ingress("external", "team-a", ["external.example.com", "/", "external"]),
      ingress("two", "team-a", ["a.example.com", "/", "web"], {
        tls: [{ hosts: ["b.example.com", "a.example.com"], secretName: "two-tls" }],
        annotations: {
          "nginx.ingress.kubernetes.io/app-root": "/",
          "nginx.ingress.kubernetes.io/from-to-www-redirect": "true",
          "nginx.ingress.kubernetes.io/server-alias": "alias.example.com, *.alias.example.com",
        },
      }),
      ingress("rest", "team-a", null, { default: "web", at: old }),
      ingress("rest-too", "team-b", null, { default: "api" }),
      ingress("foreign", "team-b", ["foreign.example.com", "/", "api"], { class: "nginx" }),
      ingress("twice", "team-b", ["one.example.com", "/", "api"]),
      ingress("twice", "team-b", ["two.example.com", "/", "api"]),
    ],
    ingressClasses: [
      { metadata: { name: "pingress" }, spec: { controller: "pingress.io/ingress-controller" } },
      { metadata: { name: "nginx" }, spec: { controller: "k8s.io/ingress-nginx" } },
    ],
    services: [
      service("web", "team-a"),
      service("api", "team-a"),
      service("api", "team-b"),
      {
        metadata: { name: "external", namespace: "team-a" },
        spec: { type: "ExternalName", externalName: "example.org" },
      },
    ],
    endpointSlices: [
      slice("web", "team-a", "web-1", ["10.0.0.3", "10.0.0.1"]),
      slice("web", "team-a", "web-2", ["10.0.0.2", "127.0.0.1"]),
      slice("web", "team-a", "web-3", ["fd00::1", "FD00::0:1"]),
      slice("api", "team-b", "api-1", ["10.0.1.1"]),
    ],
    secrets: [
      secret("app-tls", "team-a", "app"),
      secret("other-tls", "team-b", "renewed"),
      secret("wildcard-tls", "team-b", "wildcard"),
      secret("two-tls", "team-a", "two"),
    ],
  };
}

/** Valid objects of a tenant of its own, behind all others in age (none) and name. */
export function victimObjects(): Resources {
  return {
    ...NONE,
    ingresses: [
      ingress("victim", "victim", ["victim.example.com", "/path", "victim"], {
        default: "victim",
        tls: [{ hosts: ["victim.example.com"], secretName: "victim-tls" }],
        annotations: { "example.com/own": "value" },
        class: "pingress",
      }),
    ],
    services: [service("victim", "victim")],
    endpointSlices: [slice("victim", "victim", "victim-1", ["10.0.9.1"])],
    secrets: [secret("victim-tls", "victim", "rsa")],
  };
}

export const NONE: Resources = {
  ingresses: [],
  ingressClasses: [],
  services: [],
  endpointSlices: [],
  secrets: [],
};

interface IngressExtras {
  readonly at?: string;
  readonly default?: string;
  readonly class?: string;
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName: string }[];
  readonly annotations?: Readonly<Record<string, string>>;
}

/** `route`: host, path and Service. */
export function ingress(
  name: string,
  namespace: string,
  route: readonly [string | undefined, string, string] | null,
  extras: IngressExtras = {},
): Ingress {
  const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name,
      namespace,
      annotations: extras.annotations,
      creationTimestamp: extras.at,
    },
    spec: {
      ingressClassName: extras.class,
      defaultBackend: extras.default === undefined ? undefined : backend(extras.default),
      tls: extras.tls,
      rules: route === null ? undefined : [{
        host: route[0],
        http: { paths: [{ path: route[1], pathType: "Prefix", backend: backend(route[2]) }] },
      }],
    },
  };
}

export function service(name: string, namespace: string): Service {
  return {
    metadata: { name, namespace, annotations: { "pingress.io/balance": "least-requests" } },
    spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }] },
  };
}

export function slice(
  service: string,
  namespace: string,
  name: string,
  addresses: readonly string[],
) {
  return {
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      zone: "eu-1",
      hints: { forZones: [{ name: "eu-1" }] },
    })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

export function secret(name: string, namespace: string, certificate: string) {
  const read = (file: string) =>
    Deno.readTextFileSync(new URL(`../golden/certificates/${file}`, import.meta.url));
  return {
    metadata: { name, namespace },
    type: "kubernetes.io/tls",
    data: {
      "tls.crt": btoa(read(`${certificate}.crt`)),
      "tls.key": btoa(read(`${certificate}.key`)),
    },
  };
}

export const HOSTILE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "x",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  'a"b;{}#$\n\r\u0000\u001b[31m',
  "K\u212Aelvin.example.com",
  "/".repeat(10_000),
  [],
  [null],
  [[]],
  nested(1000),
  "very long ".repeat(100_000),
  JSON.parse('{"__proto__": {"name": "x"}, "constructor": 5}'),
  {},
  { toString: 5, length: 3 },
];

/** Lists within lists. */
function nested(depth: number): unknown {
  return JSON.parse("[".repeat(depth) + "]".repeat(depth));
}

/** The object with each of its fields, one at a time, taken out or replaced. */
export function* mutationsOf<T>(object: T): Generator<T> {
  for (const path of fieldPaths(object)) {
    yield withField(object, path, undefined) as T;
    for (const value of HOSTILE) yield withField(object, path, value) as T;
  }
}

function fieldPaths(value: unknown): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    [key],
    ...fieldPaths(inner).map((path) => [key, ...path]),
  ]);
}

function withField(object: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  const copy = (Array.isArray(object) ? [...object] : { ...object as object }) as Record<
    string,
    unknown
  >;
  if (rest.length > 0) copy[key] = withField(copy[key], rest, value);
  else if (value === undefined) delete copy[key];
  else copy[key] = value;
  return copy;
}

export function merge(a: Resources, b: Resources): Resources {
  return {
    ingresses: [...a.ingresses, ...b.ingresses],
    ingressClasses: [...a.ingressClasses, ...b.ingressClasses],
    services: [...a.services, ...b.services],
    endpointSlices: [...a.endpointSlices, ...b.endpointSlices],
    secrets: [...a.secrets, ...b.secrets],
  };
}

export function shuffle<T>(list: readonly T[], random: () => number): T[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

/** Repeatable numbers from 0 to 1 (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
