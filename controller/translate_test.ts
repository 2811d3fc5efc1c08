/** What holds for every translation, whatever the objects; `tests/golden` has the rules one by one. */
import assert from "node:assert/strict";
import { parseSnapshot } from "../shared/snapshot_parse.ts";
import { serialiseSnapshot } from "../shared/snapshot_serialise.ts";
import type { Ingress, Resources, Service } from "./resources.ts";
import { translate, type TranslateOptions, type Translation } from "./translate.ts";
import { stableText } from "./translate/json.ts";

const OPTIONS: TranslateOptions = {
  ingressClasses: ["pingress"],
  controllerNames: ["pingress.io/ingress-controller"],
  watchIngressWithoutClass: true,
  defaultBackend: { namespace: "team-a", name: "web", port: 80 },
  allowExternalName: true,
  allowLocalEndpoints: false,
  version: { epoch: "file", seen: {} },
};
const NOW = Date.parse("2030-01-01T00:00:00Z");

Deno.test("the same objects in any order give the same bytes", () => {
  const resources = richResources();
  const expected = bytesOf(run(resources));
  const random = randomNumbers(1);
  for (let i = 0; i < 1000; i++) {
    const shuffled: Resources = {
      ingresses: shuffle(resources.ingresses, random),
      ingressClasses: shuffle(resources.ingressClasses, random),
      services: shuffle(resources.services, random),
      endpointSlices: shuffle(resources.endpointSlices, random),
      secrets: shuffle(resources.secrets, random),
    };
    assert.equal(bytesOf(run(shuffled)), expected);
  }
});

Deno.test("a translation leaves its objects and the published snapshot as they are", () => {
  const resources = deepFreeze(richResources());
  const { snapshot } = run(resources);
  deepFreeze(snapshot.routes);
  assert.equal(
    bytesOf(translate(resources, snapshot, OPTIONS, () => NOW)),
    bytesOf(run(resources)),
  );
});

Deno.test("time changes problems, never the snapshot", () => {
  const resources = richResources();
  const later = translate(resources, null, OPTIONS, () => Date.parse("2200-01-01T00:00:00Z"));
  assert.equal(bytesOf({ ...later, problems: [] }), bytesOf({ ...run(resources), problems: [] }));
  assert.ok(later.problems.some(({ reason }) => reason === "CertificateExpired"));
  assert.ok(!run(resources).problems.some(({ reason }) => reason === "CertificateExpired"));
});

Deno.test("the proxy can read every snapshot that comes out", () => {
  assertReadable(run(richResources()));
});

Deno.test("no key shows in a translation that is printed", () => {
  const translation = run(richResources());
  assert.equal(translation.snapshot.certificates.length, 3);
  for (const text of [JSON.stringify(translation), Deno.inspect(translation, { depth: 20 })]) {
    assert.doesNotMatch(text, /PRIVATE KEY/);
  }
});

Deno.test("a field of any shape in one object changes nothing of the others", () => {
  const resources = richResources();
  const victim = victimObjects();
  const whole = merge(resources, victim);
  const others = othersOf(run(whole));
  assert.ok(others.routes.length >= 10 && others.certificates.length === 3);
  let mutations = 0;
  for (const kind of ["ingresses", "services", "endpointSlices", "secrets"] as const) {
    for (const [i, object] of victim[kind].entries()) {
      for (const mutated of mutationsOf(object)) {
        const objects = victim[kind].map((other, j) => j === i ? mutated : other);
        const translation = run(merge(resources, { ...victim, [kind]: objects }));
        assert.deepEqual(othersOf(translation), others, JSON.stringify(mutated));
        assertSafe(translation, mutated);
        mutations++;
      }
    }
  }
  assert.ok(mutations > 1000, `${mutations} mutations`);
});

Deno.test("elements of any kind in the lists of objects are survived", () => {
  const junk = [...HOSTILE, undefined, {}, { metadata: null }, {
    metadata: { name: "x" },
    spec: 5,
  }];
  const everywhere = junk as never[];
  const resources = richResources();
  const translation = run({
    ingresses: [...resources.ingresses, ...everywhere],
    ingressClasses: [...resources.ingressClasses, ...everywhere],
    services: [...resources.services, ...everywhere],
    endpointSlices: [...resources.endpointSlices, ...everywhere],
    secrets: [...resources.secrets, ...everywhere],
  });
  assert.deepEqual(translation.snapshot.routes, run(resources).snapshot.routes);
  assertReadable(translation);
});

Deno.test("annotations that nobody knows change nothing at all", () => {
  const plain = run(richResources());
  for (const value of ["\n", '"', ";", "{}", "#", "${HOME}", "return 200;", "\u0000"]) {
    for (const name of ["example.com/own", "pingress.io/unknown", value]) {
      const annotate = (ingress: Ingress) => ({
        ...ingress,
        metadata: {
          ...ingress.metadata,
          annotations: { ...ingress.metadata?.annotations, [name]: value },
        },
      });
      const resources = richResources();
      const annotated = { ...resources, ingresses: resources.ingresses.map(annotate) };
      assert.equal(bytesOf(run(annotated)), bytesOf(plain));
    }
  }
});

Deno.test("ten thousand Ingresses become ten thousand routes", () => {
  const ingresses: Ingress[] = [];
  const services: Service[] = [];
  for (let i = 0; i < 10_000; i++) {
    const namespace = `team-${i % 100}`;
    ingresses.push(ingress(`web-${i}`, namespace, [`host-${i}.example.com`, "/", `svc-${i}`]));
    services.push(service(`svc-${i}`, namespace));
  }
  const translation = run({ ...NONE, ingresses, services });
  assert.equal(translation.snapshot.routes.length, 10_000);
  assert.equal(translation.snapshot.upstreams.length, 10_000);
  assert.equal(translation.statuses.length, 10_000);
});

/** Every kind of object, with conflicts, mistakes and certificates. */
function richResources(): Resources {
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
        annotations: { "nginx.ingress.kubernetes.io/rewrite-target": "/" },
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
function victimObjects(): Resources {
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

const NONE: Resources = {
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
function ingress(
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

function service(name: string, namespace: string): Service {
  return {
    metadata: { name, namespace },
    spec: { ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }] },
  };
}

function slice(service: string, namespace: string, name: string, addresses: readonly string[]) {
  return {
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({
      addresses: [address],
      conditions: { ready: true, serving: true, terminating: false },
      zone: "eu-1",
    })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

function secret(name: string, namespace: string, certificate: string) {
  const read = (file: string) =>
    Deno.readTextFileSync(new URL(`../tests/golden/certificates/${file}`, import.meta.url));
  return {
    metadata: { name, namespace },
    type: "kubernetes.io/tls",
    data: {
      "tls.crt": btoa(read(`${certificate}.crt`)),
      "tls.key": btoa(read(`${certificate}.key`)),
    },
  };
}

const HOSTILE: readonly unknown[] = [
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
  {},
  { toString: 5, length: 3 },
];

/** The object with each of its fields, one at a time, taken out or replaced. */
function* mutationsOf<T>(object: T): Generator<T> {
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

function merge(a: Resources, b: Resources): Resources {
  return {
    ingresses: [...a.ingresses, ...b.ingresses],
    ingressClasses: [...a.ingressClasses, ...b.ingressClasses],
    services: [...a.services, ...b.services],
    endpointSlices: [...a.endpointSlices, ...b.endpointSlices],
    secrets: [...a.secrets, ...b.secrets],
  };
}

/** What the victim must not touch. */
function othersOf({ snapshot, statuses }: Translation) {
  const isOther = (of: { readonly namespace: string }) =>
    of.namespace === "team-a" || of.namespace === "team-b";
  return {
    routes: snapshot.routes.filter(({ origin }) => isOther(origin)),
    defaultAction: snapshot.defaultAction,
    upstreams: snapshot.upstreams.filter(({ id }) => id.startsWith("team-")),
    certificates: snapshot.certificates.filter(({ origin }) => isOther(origin))
      .map(({ id, hosts }) => ({ id, hosts })),
    statuses: statuses.filter(({ object }) => isOther(object)),
  };
}

/** A result that can be printed and published. */
function assertSafe(translation: Translation, cause: unknown): void {
  for (const { message, remedy, field, reason } of translation.problems) {
    assert.match(`${message}${remedy}`, /^[\x20-\x7e…–]+$/, JSON.stringify(cause));
    assert.doesNotMatch(`${message}|${remedy}`, /\.$|\.\||undefined|\[object/);
    assert.match(reason, /^[A-Z][A-Za-z]+$/);
    assert.equal(typeof field, "string");
  }
  assertReadable(translation);
}

function assertReadable({ snapshot }: Translation): void {
  const text = serialiseSnapshot(snapshot, { revealKeys: true });
  const parsed = parseSnapshot(text);
  assert.deepEqual(parsed.problems, []);
  assert.ok(parsed.snapshot !== null);
  assert.equal(serialiseSnapshot(parsed.snapshot, { revealKeys: true }), text);
}

function run(resources: Resources): Translation {
  return translate(resources, null, OPTIONS, () => NOW);
}

function bytesOf({ snapshot, problems, statuses }: Translation): string {
  return serialiseSnapshot(snapshot, { revealKeys: true }) + stableText({ problems, statuses });
}

function shuffle<T>(list: readonly T[], random: () => number): T[] {
  const copy = [...list];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

/** Repeatable numbers from 0 to 1 (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
