/** Paths that close and open between translations, where little else changes. */
import assert from "node:assert/strict";
import { readIdentity } from "../../base/identity.ts";
import { Ownership } from "../hosts/ownership.ts";
import { ProblemList } from "../../base/problems.ts";
import { readIngress } from "../ingress/ingress.ts";
import { Closures } from "./closures.ts";
import { HostIndex } from "./host_index.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { translate, type TranslateOptions, Translator } from "../translator.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  nginxClasses: ["pingress"],
};
const PREFIX = "nginx.ingress.kubernetes.io/";
/** So many that the routes of one more or less are built alone. */
const OTHERS = Array.from({ length: 20 }, (_, i) => ingress(`other-${i}`, `${i}.example.com`, {}));

Deno.test("a Service stays an upstream when an Ingress with a closed path is deleted", () => {
  const closed = ingress("closed", "closed.example.com", { "limit-rps": "5" });
  assert.equal(statusesOf([...OTHERS.slice(1), OTHERS[0], closed])["closed.example.com"], 503);
  const web = [ingress("one", "one.example.com", {}, "api")];
  const guarded = ingress("two", "two.example.com", { "limit-rps": "5" }, "api");
  run([...OTHERS, ...web, guarded]);
  const after = run([...OTHERS, ...web]);
  assert.ok(after.snapshot.upstreams.some(({ id }) => id === "default/api:80"));
});

Deno.test("a path opens when its annotation is accepted, and closes again", () => {
  const all = [...OTHERS, ingress("web", "web.example.com", { "limit-rps": "5" })];
  assert.equal(statusesOf(all)["web.example.com"], 503);
  const accepted = { ...OPTIONS, acceptUnsupported: ["limit-rps"] };
  assert.equal(statusesOf(all, accepted)["web.example.com"], 200);
  assert.equal(statusesOf(all)["web.example.com"], 503);
});

Deno.test("a path in plain text closes while the appProtocol of its Service says TLS", () => {
  const all = [...OTHERS, ingress("web", "web.example.com", { "backend-protocol": "GRPC" }, "api")];
  assert.equal(statusesOf(all, OPTIONS, "grpcs")["web.example.com"], 503);
  assert.equal(statusesOf(all, OPTIONS, "kubernetes.io/h2c")["web.example.com"], 200);
  assert.equal(statusesOf(all, OPTIONS, "https")["web.example.com"], 503);
  assert.equal(statusesOf(all, OPTIONS, "http")["web.example.com"], 200);
});

Deno.test("backend-protocol is reported once where the Service says TLS, and never where it agrees", () => {
  const all = [ingress("web", "web.example.com", { "backend-protocol": "GRPC" }, "api")];
  const found = (appProtocol: string) =>
    run(all, OPTIONS, appProtocol).problems
      .filter(({ field }) => field.includes("backend-protocol"))
      .map(({ severity }) => severity);
  assert.deepEqual(found("https"), ["error"]);
  assert.deepEqual(found("http"), []);
  assert.deepEqual(found("kubernetes.io/h2c"), []);
});

Deno.test("a host-wide annotation closes and opens other Ingresses' paths of the host", () => {
  const web = ingress("web", "web.example.com", {});
  const host = ingress("host", "web.example.com", { "auth-tls-secret": "default/ca" }, "api", "/a");
  assert.equal(statusesOf([...OTHERS, web])["web.example.com"], 200);
  assert.equal(statusesOf([...OTHERS, web, host])["web.example.com"], 503);
  const plain = ingress("host", "web.example.com", {}, "api", "/a");
  assert.equal(statusesOf([...OTHERS, web, plain])["web.example.com"], 200);
  assert.equal(statusesOf([...OTHERS, web, host])["web.example.com"], 503);
  assert.equal(statusesOf([...OTHERS, web])["web.example.com"], 200);
});

const ALLOWED = { allowAcceptUnsupportedAnnotation: true } as const;
const ACCEPTED = { "pingress.io/accept-unsupported": "auth-tls-secret" } as const;

/** Who accepts an annotation of a whole host, and whether another namespace's path of it is open then. */
const ACCEPTERS: readonly (readonly [
  what: string,
  options: Partial<TranslateOptions>,
  own: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
  status: number,
])[] = [
  ["nobody accepts it", {}, {}, {}, 503],
  ["the operator accepts it", { acceptUnsupported: ["auth-tls-secret"] }, {}, {}, 200],
  ["the operator accepts another one", { acceptUnsupported: ["limit-rps"] }, {}, {}, 503],
  ["its own Ingress accepts it", ALLOWED, ACCEPTED, {}, 200],
  ["its own Ingress may not accept it", {}, ACCEPTED, {}, 503],
  ["the other Ingress accepts it", ALLOWED, {}, ACCEPTED, 503],
];

for (const [what, more, own, other, status] of ACCEPTERS) {
  Deno.test(`paths of other namespaces are ${status === 503 ? "closed" : "served"} where a shared host has auth-tls-secret and ${what}`, () => {
    const options = { ...OPTIONS, ...more, hostOwnership: "shared" } as const;
    const host = "web.example.com";
    const certificates = { "auth-tls-secret": "default/ca", ...own };
    const protecting = ingress("protecting", host, certificates, "web", "/x");
    const foreign = inNamespace("team", ingress("foreign", host, other));
    const translator = new Translator();
    for (const ingresses of [[...OTHERS, foreign], [...OTHERS, foreign, protecting]]) {
      const now = translator.translate(resources(ingresses), null, options, () => 0);
      assert.deepEqual(now, run(ingresses, options));
    }
    const { snapshot, problems } = run([...OTHERS, foreign, protecting], options);
    assert.equal(closedOf(snapshot).includes("foreign"), status === 503);
    const naming = (name: string, text: string) =>
      problems.some(({ object, message }) => object?.name === name && message.includes(text));
    assert.equal(naming("foreign", "Ingress default/protecting"), status === 503);
    assert.equal(naming("protecting", "Ingress team/foreign"), status === 503);
  });
}

Deno.test("a host with an owner is closed for its own namespace alone, and so are rules without a host", () => {
  const options = { ...OPTIONS, hostOwnership: "namespace" } as const;
  const annotations = { "auth-tls-secret": "default/ca" };
  const owners = withMetadata(ingress("owners", "web.example.com", {}), {
    creationTimestamp: "2026-01-01T00:00:00Z",
  });
  const guest = inNamespace("team", ingress("guest", "web.example.com", annotations, "web", "/x"));
  const any = ingress("any", "", {});
  const anyOther = inNamespace("team", ingress("any-other", "", annotations, "web", "/x"));
  const { snapshot } = run([owners, guest, any, anyOther], options);
  assert.deepEqual(closedOf(snapshot), ["any-other"]);
});

/** Names of Ingresses with closed paths. */
function closedOf({ routes }: Snapshot): readonly string[] {
  return routes.filter(({ action }) => action.kind === "reply" && action.closed === true)
    .map(({ origin }) => origin.name);
}

function inNamespace(namespace: string, object: object): object {
  return withMetadata(object, { namespace });
}

function withMetadata(object: object, more: Readonly<Record<string, string>>): object {
  const { metadata, ...rest } = object as { metadata: object };
  return { ...rest, metadata: { ...metadata, ...more } };
}

for (
  const [what, host, annotations] of [
    ["a rule", "login.example.com", {}],
    ["a wildcard", "*.example.com", {}],
    ["an alias", "x.test", { "server-alias": "login.example.com" }],
  ] as const
) {
  for (const hostOwnership of ["shared", "namespace"] as const) {
    Deno.test(`a host of auth-url needs no resolution while ${what} has it, host ownership ${hostOwnership}`, () => {
      const web = ingress("web", "web.test", { "auth-url": "https://login.example.com/" });
      const login = ingress("login", host, annotations);
      const translator = new Translator();
      const options = { ...OPTIONS, hostOwnership };
      const reasons = (ingresses: readonly object[]) =>
        translator.translate(resources(ingresses), null, options, () => 0).problems
          .map(({ reason }) => reason);
      const elsewhere = Array.from({ length: 20 }, (_, i) => ingress(`i${i}`, `i${i}.test`, {}));
      assert.deepEqual(reasons([...elsewhere, web]), ["ExternalNameNotAllowed"]);
      assert.deepEqual(reasons([...elsewhere, web, login]), []);
      const other = ingress("other", host, annotations, "api", "/x");
      assert.deepEqual(reasons([...elsewhere, web, other]), []);
      assert.deepEqual(reasons([...elsewhere, web]), ["ExternalNameNotAllowed"]);
    });
  }
}

Deno.test("an invalid value of an honoured annotation cannot be accepted", () => {
  const problems = new ProblemList();
  const object = ingress("web", "web.example.com", {});
  const source = readIngress(readIdentity("Ingress", object)!, object);
  const refusal = {
    name: "limit-rps",
    field: "metadata",
    isHostWide: false,
    fault: "is not valid",
    remedy: "Write an integer",
  };
  const refusals = { ...OPTIONS, acceptUnsupported: ["limit-rps"] };
  const refused = { ...source, refusals: [refusal] };
  const closures = new Closures([refused], new HostIndex([refused]), refusals, SHARED, problems);
  assert.equal(closures.of(refused, "web.example.com")?.status, 503);
  const [{ message, remedy }] = problems.sorted();
  assert.match(message, /limit-rps" is not valid, so its paths return 503$/);
  assert.equal(remedy, "Write an integer");
});

/** What a Secret holds, and whether hosts of client certificates that are turned off are served. */
const AUTHORITY = Deno.readTextFileSync(
  new URL("../../../tests/golden/certificates/intermediate.crt", import.meta.url),
);
const CERTIFICATE_SECRETS:
  readonly (readonly [what: string, secret: object | null, status: number])[] = [
    ["no Secret", null, 503],
    ["an authority", { data: { "ca.crt": btoa(AUTHORITY) } }, 200],
    ["an authority as text", { stringData: { "ca.crt": AUTHORITY } }, 200],
    ["a broken authority", { stringData: { "ca.crt": "none" } }, 503],
    [
      "a revocation list that is none",
      { stringData: { "ca.crt": AUTHORITY, "ca.crl": AUTHORITY } },
      503,
    ],
    ["a password file", { stringData: { auth: "a:{PLAIN}b" } }, 503],
    ["nothing", {}, 503],
  ];

Deno.test("a host opens when the Secret of its client certificates comes, though they are turned off", () => {
  const off = {
    "auth-tls-secret": "default/ca",
    "auth-tls-verify-client": "off",
  };
  for (const canary of ["false", "true"]) {
    const translator = new Translator();
    const ingresses = [
      ...OTHERS,
      ingress("web", "web.example.com", {}),
      ingress("off", "web.example.com", { ...off, canary }, "api", "/off"),
    ];
    for (const [what, secret, status] of [...CERTIFICATE_SECRETS, ...CERTIFICATE_SECRETS]) {
      const secrets = secret === null
        ? []
        : [{ metadata: { namespace: "default", name: "ca" }, ...secret }];
      const given = { ...resources(ingresses), secrets };
      const changed = translator.translate(given, null, OPTIONS, () => 0);
      assert.deepEqual(changed, translate(given, null, OPTIONS, () => 0), what);
      const served = changed.snapshot.routes.filter(({ host }) => host === "web.example.com");
      assert.ok(served.length > 0);
      for (const { action } of served) {
        assert.equal(action.kind === "reply" ? action.status : 200, status, what);
      }
      assert.equal(
        changed.problems.some(({ message }) =>
          /default\/ca|ca in namespace|Secret ca/.test(message)
        ),
        status === 503,
        what,
      );
    }
  }
});

const SHARED = new Ownership({
  mode: "shared",
  owners: new Map(),
  assigned: new Map(),
  contested: new Set(),
  claims: null,
  problems: [],
});

Deno.test("the remedy for an Ingress without a class names spec.ingressClassName", () => {
  const options = {
    ...OPTIONS,
    ingressClasses: ["pingress", "nginx"],
    nginxClasses: ["nginx"],
    watchIngressWithoutClass: true,
  };
  const named = ingress("web", "web.example.com", { "whitelist-source-range": "10.0.0.0/8" });
  const { ingressClassName: _, ...spec } = (named as { spec: Record<string, unknown> }).spec;
  for (
    const [one, remedy] of [[named, /^Turn the profile on/], [
      { ...named, spec },
      /^Name a class in spec.ingressClassName. Turn/,
    ]] as const
  ) {
    const { problems } = run([one], options);
    const [error] = problems.filter(({ severity }) => severity === "error");
    assert.match(error.remedy, remedy);
    assert.equal(statusesOf([one], options)["web.example.com"], 503);
  }
});

/** 200 for a route to a backend, by host; of several the last in order. */
function statusesOf(
  ingresses: readonly object[],
  options = OPTIONS,
  appProtocol?: string,
): Record<string, number> {
  const { routes } = run(ingresses, options, appProtocol).snapshot;
  return Object.fromEntries(
    routes.map(({ host, action }) => [host, action.kind === "reply" ? action.status : 200]),
  );
}

function run(ingresses: readonly object[], options = OPTIONS, appProtocol?: string) {
  return translate(resources(ingresses, appProtocol), null, options, () => 0);
}

function resources(ingresses: readonly object[], appProtocol?: string) {
  return {
    ingresses,
    ingressClasses: [],
    services: [service("web"), service("api", appProtocol)],
    endpointSlices: [slice("web"), slice("api")],
    secrets: [],
  } as unknown as Parameters<typeof translate>[0];
}

function ingress(
  name: string,
  host: string,
  annotations: Record<string, string>,
  backend = "web",
  path = "/",
): object {
  const service = { name: backend, port: { number: 80 } };
  return {
    metadata: {
      name,
      namespace: "default",
      annotations: Object.fromEntries(
        Object.entries(annotations).map((
          [key, value],
        ) => [key.includes("/") ? key : PREFIX + key, value]),
      ),
    },
    spec: {
      ingressClassName: "pingress",
      rules: [{ host, http: { paths: [{ path, pathType: "Prefix", backend: { service } }] } }],
    },
  };
}

function service(name: string, appProtocol?: string) {
  const ports = [{ port: 80, targetPort: 8080, appProtocol }];
  return { metadata: { name, namespace: "default" }, spec: { ports } };
}

function slice(name: string) {
  return {
    metadata: {
      name: `${name}-1`,
      namespace: "default",
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"] }],
    ports: [{ port: 8080 }],
  };
}
