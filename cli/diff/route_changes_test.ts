/** What differs between two folders of manifests, as they are served. */
import assert from "node:assert/strict";
import { planFor } from "../../tests/support/dev_plan.ts";
import type { Plan } from "../../dev/plan.ts";
import {
  isUnchanged,
  type ServedChanges,
  servedChanges,
  type ServedState,
} from "./route_changes.ts";
import { routeLine } from "./change_text.ts";

interface Path {
  readonly path: string;
  readonly service?: string;
}

function ingress(
  paths: readonly Path[],
  more: { name?: string; annotation?: string; host?: string } = {},
) {
  const { name = "app", annotation = "", host = "app.test" } = more;
  const list = paths.map(({ path, service = "web" }) =>
    `      - { path: ${path}, pathType: Prefix, backend: { service: { name: ${service}, port: { number: 80 } } } }\n`
  );
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${name}, annotations: { ${annotation} } }
spec:
  rules:
  - host: ${host}
    http:
      paths:
${list.join("")}---
`;
}

function service(name: string, annotation = ""): string {
  return `apiVersion: v1
kind: Service
metadata: { name: ${name}, annotations: { ${annotation} } }
spec: { ports: [{ port: 80 }] }
---
`;
}

const SERVICES = service("web") + service("api");
const ROOT = ingress([{ path: "/" }]);
const EXAMPLE_TLS = await Deno.readTextFile(new URL("../../examples/5-tls.yaml", import.meta.url));

function stateOf(text: string): ServedState {
  const { snapshot, problems }: Plan = planFor({ "a.yaml": text }, { nginxClasses: ["nginx"] });
  return { snapshot, problems };
}

/** `kind what` of each route, certificate and setting. */
function summary({ routes, certificates, settings }: ServedChanges): string[] {
  return [
    ...routes.map((change) => {
      switch (change.kind) {
        case "added":
          return `added ${change.after.id}`;
        case "removed":
          return `removed ${change.before.id}`;
        case "changed":
          return `changed ${change.before.id} to ${change.after.id}: ${change.aspects.join()}`;
      }
    }),
    ...certificates.map(({ kind, before, after = before }) => `${kind} ${after?.origin.name}`),
    ...settings.map(({ kind, name }) => `${kind} ${name}`),
  ];
}

const CASES: readonly {
  readonly name: string;
  readonly before: string;
  readonly after: string;
  readonly expected: readonly string[];
}[] = [
  { name: "the same text", before: ROOT + SERVICES, after: ROOT + SERVICES, expected: [] },
  {
    name: "lines that moved, and comments",
    before: ROOT + SERVICES,
    after: `# moved\n\n${SERVICES}${ROOT}`,
    expected: [],
  },
  {
    name: "the order of paths",
    before: ingress([{ path: "/a" }, { path: "/b" }]) + SERVICES,
    after: ingress([{ path: "/b" }, { path: "/a" }]) + SERVICES,
    expected: [],
  },
  {
    name: "a new path",
    before: ROOT + SERVICES,
    after: ingress([{ path: "/" }, { path: "/api" }]) + SERVICES,
    expected: ["added app.test Prefix /api"],
  },
  {
    name: "a new path in front of the others",
    before: ROOT + SERVICES,
    after: ingress([{ path: "/api" }, { path: "/" }]) + SERVICES,
    expected: ["added app.test Prefix /api"],
  },
  {
    name: "a path that is gone",
    before: ingress([{ path: "/" }, { path: "/api" }]) + SERVICES,
    after: ROOT + SERVICES,
    expected: ["removed app.test Prefix /api"],
  },
  {
    name: "another path in the same place",
    before: ingress([{ path: "/api" }]) + SERVICES,
    after: ingress([{ path: "/v2" }]) + SERVICES,
    expected: ["changed app.test Prefix /api to app.test Prefix /v2: match"],
  },
  {
    name: "another host",
    before: ROOT + SERVICES,
    after: ingress([{ path: "/" }], { host: "b.test" }) + SERVICES,
    expected: ["changed app.test Prefix / to b.test Prefix /: match"],
  },
  {
    name: "another Service",
    before: ROOT + SERVICES,
    after: ingress([{ path: "/", service: "api" }]) + SERVICES,
    expected: ["changed app.test Prefix / to app.test Prefix /: backends"],
  },
  {
    name: "a Service that is gone",
    before: ROOT + SERVICES,
    after: ROOT,
    expected: ["changed app.test Prefix / to app.test Prefix /: backends"],
  },
  {
    name: "endpoints of a Service that two routes name",
    before: ingress([{ path: "/" }, { path: "/b" }, { path: "/api", service: "api" }]) + SERVICES,
    after: ingress([{ path: "/" }, { path: "/b" }, { path: "/api", service: "api" }]) +
      service("web", "dev.pingress.io/endpoint: '127.0.0.1:3000'") + service("api"),
    expected: [
      "changed app.test Prefix /b to app.test Prefix /b: endpoints",
      "changed app.test Prefix / to app.test Prefix /: endpoints",
    ],
  },
  {
    name: "the protocol of a port",
    before: ROOT + SERVICES,
    after: ROOT +
      SERVICES.replace("[{ port: 80 }]", "[{ port: 80, appProtocol: kubernetes.io/h2c }]"),
    expected: ["changed app.test Prefix / to app.test Prefix /: protocol,endpoints"],
  },
  {
    name: "a certificate",
    before: ROOT + SERVICES,
    after:
      ROOT.replace("spec:\n", "spec:\n  tls: [{ hosts: [app.test], secretName: example-tls }]\n") +
      SERVICES + `${EXAMPLE_TLS}\n---\n`,
    expected: ["added example-tls"],
  },
];

for (const { name, before, after, expected } of CASES) {
  Deno.test(`changes: ${name}`, () => {
    const changes = servedChanges(stateOf(before), stateOf(after));
    assert.deepEqual(summary(changes), expected);
    if (expected.length === 0) assert.ok(isUnchanged(changes));
  });
}

Deno.test("changes: a filter of a route, and users that a Secret has", () => {
  const nginx = (annotation: string) =>
    ingress([{ path: "/" }], { annotation }).replace(
      "spec:\n",
      "spec:\n  ingressClassName: nginx\n",
    ) +
    SERVICES;
  const auth = "nginx.ingress.kubernetes.io/auth-type: basic, " +
    "nginx.ingress.kubernetes.io/auth-secret: users";
  const users = (name: string) =>
    `apiVersion: v1\nkind: Secret\nmetadata: { name: users }\nstringData: { auth: "${name}:{PLAIN}x" }\n---\n`;
  const open = stateOf(nginx(""));
  const closed = stateOf(nginx(auth) + users("a"));
  assert.deepEqual(
    servedChanges(open, closed).routes.map((change) => change.kind === "changed" && change.aspects),
    [["filters"]],
  );
  const other = stateOf(nginx(auth) + users("b"));
  assert.deepEqual(summary(servedChanges(closed, other)), ["users default/users auth-file"]);
  const shown = JSON.stringify(servedChanges(closed, other));
  assert.ok(!shown.includes("PLAIN"), "users do not show");
});

for (
  const [name, before, after, line] of [
    [
      "another target of a redirect",
      "permanent-redirect: https://b.test/x",
      "permanent-redirect: https://evil.test/x",
      /: no longer redirects with 301 to https:\/\/b\.test\/x, now redirects with 301 to https:\/\/evil\.test\/x$/,
    ],
    [
      "more networks",
      "whitelist-source-range: 10.0.0.0/8",
      'whitelist-source-range: "10.0.0.0/8,0.0.0.0/1,128.0.0.0/1"',
      /, now admits clients of 0\.0\.0\.0\/1, 10\.0\.0\.0\/8, 128\.0\.0\.0\/1; others get 403$/,
    ],
    [
      "a redirect in place of a backend",
      "proxy-read-timeout: 60",
      "permanent-redirect: https://b.test/x",
      /now redirects with 301 to https:\/\/b\.test\/x/,
    ],
  ] as const
) {
  Deno.test(`changes: ${name} is said`, () => {
    const state = (annotation: string) =>
      stateOf(
        ingress([{ path: "/" }], { annotation: `nginx.ingress.kubernetes.io/${annotation}` })
          .replace("spec:\n", "spec:\n  ingressClassName: nginx\n") + SERVICES,
      );
    const { routes: [change] } = servedChanges(state(before), state(after));
    assert.match(routeLine(change, () => ""), line);
    const [added] = servedChanges(stateOf(SERVICES), state(after)).routes;
    const text = routeLine(added, () => "");
    if (after.startsWith("permanent-redirect")) assert.match(text, /: 301 to https:/);
    assert.ok(added.filters.added.length > 0);
  });
}

Deno.test("changes: problems are new, mended, or have only moved", () => {
  const missing = ingress([{ path: "/", service: "gone" }]);
  const before = stateOf(missing + SERVICES);
  const moved = stateOf(SERVICES + missing);
  assert.ok(isUnchanged(servedChanges(before, moved)));
  const mended = servedChanges(before, stateOf(missing + SERVICES + service("gone"))).problems;
  assert.deepEqual([mended.added.length, mended.mended.length], [0, 1]);
  const again = servedChanges(stateOf(ROOT + SERVICES), before).problems;
  assert.deepEqual(again.added.map(({ problem: { reason } }) => reason), ["ServiceNotFound"]);
  assert.equal(again.mended.length, 0);
});
