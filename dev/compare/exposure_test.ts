/** Which changes of manifests lose routes, and which open protected paths. */
import assert from "node:assert/strict";
import { NGINX_PROFILE, planFor } from "../../tests/support/dev_plan.ts";
import { exposureOf } from "./exposure.ts";

const SERVICES = ["web", "api"].map((name) =>
  `apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { ports: [{ name: http, port: 80 }] }
---
`
).join("") + `${NGINX_PROFILE}---
apiVersion: v1
kind: Secret
metadata: { name: users }
stringData: { auth: "a:{PLAIN}b" }
---
`;

/** One Ingress for each `host path service annotations`; of the host `-` one with a default backend alone. */
function ingresses(...rules: readonly string[]): string {
  return SERVICES + rules.map((rule, i) => {
    const [host, path, service, ...annotations] = rule.split(" ");
    const type = path.startsWith("=") ? "Exact" : "Prefix";
    const lines = annotations.map((annotation) => {
      const [name, value] = annotation.split("=");
      return `nginx.ingress.kubernetes.io/${name}: "${value}"`;
    });
    const [name, port = "80"] = service.split(":");
    const head = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: i${i}-${name}, annotations: { ${lines.join(", ")} } }
spec:
  ingressClassName: pingress
`;
    if (host === "-") {
      return `${head}  defaultBackend: { service: { name: ${name}, port: { number: 80 } } }
---
`;
    }
    return `${head}  rules:
    - host: "${host}"
      http:
        paths:
          - path: ${path.replace(/^=/, "")}
            pathType: ${type}
            backend: { service: { name: ${name}, port: { ${
      /^\d/.test(port) ? "number" : "name"
    }: ${port} } } }
---
`;
  }).join("");
}

const LOGIN = "auth-type=basic auth-secret=users";
const LIST = "whitelist-source-range=10.0.0.0/8";

interface Case {
  readonly name: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** `route: status or upstream`. */
  readonly lost?: readonly string[];
  /** `route: what is dropped`. */
  readonly opened?: readonly string[];
}

const CASES: readonly Case[] = [
  { name: "nothing that changes", before: ["a.test / web"], after: ["a.test / web"] },
  {
    name: "a host that is gone",
    before: ["a.test / web", "b.test / web"],
    after: ["a.test / web"],
    lost: ["b.test Prefix /: 404"],
  },
  {
    name: "a path whose requests another backend gets",
    before: ["a.test / web", "a.test /api api"],
    after: ["a.test / web"],
    lost: ["a.test Prefix /api: default/web:80"],
  },
  {
    name:
      "a path whose requests the same Service gets, by a shorter path and another name of its port",
    before: ["a.test / web:http", "a.test /x web:80"],
    after: ["a.test / web:http"],
  },
  {
    name: "a host that a wildcard takes now",
    before: ["a.test.example / web"],
    after: ["*.test.example / web"],
  },
  {
    name: "a wildcard that is gone",
    before: ["*.test.example / web"],
    after: ["a.test.example / web"],
    lost: ["*.test.example Prefix /: 404"],
  },
  {
    name: "a backend that does not exist",
    before: ["a.test / web"],
    after: ["a.test / wbe"],
    lost: ["a.test Prefix /: 503"],
  },
  {
    name: "another backend",
    before: ["a.test / web"],
    after: ["a.test / api"],
  },
  { name: "a route that had no backend", before: ["a.test / wbe"], after: ["b.test / web"] },
  {
    name: "a redirect in place of a backend",
    before: ["a.test / web"],
    after: ["a.test / web permanent-redirect=https://b.test"],
  },
  {
    name: "a login that is gone",
    before: [`a.test / web ${LOGIN}`],
    after: ["a.test / web"],
    opened: ["a.test Prefix /: basic-auth, open"],
  },
  {
    name: "a login that is gone beside a list",
    before: [`a.test / web ${LOGIN} ${LIST}`],
    after: [`a.test / web ${LIST}`],
    opened: ["a.test Prefix /: basic-auth"],
  },
  {
    name: "a list that admits everybody",
    before: [`a.test / web ${LIST}`],
    after: ["a.test / web whitelist-source-range=0.0.0.0/0"],
    opened: ["a.test Prefix /: allow-list, open"],
  },
  {
    name: "a list whose networks admit everybody together",
    before: [`a.test / web ${LIST}`],
    after: ["a.test / web whitelist-source-range=10.0.0.0/8,0.0.0.0/1,128.0.0.0/1"],
    opened: ["a.test Prefix /: allow-list, open"],
  },
  {
    name: "a list that admits half of the addresses",
    before: [`a.test / web ${LIST}`],
    after: ["a.test / web whitelist-source-range=10.0.0.0/8,0.0.0.0/1"],
  },
  {
    name: "a list that is wider",
    before: [`a.test / web ${LIST}`],
    after: ["a.test / web whitelist-source-range=10.0.0.0/7"],
  },
  {
    name: "a login for clients outside of a list",
    before: [`a.test / web ${LOGIN} ${LIST}`],
    after: [`a.test / web ${LOGIN} ${LIST} satisfy=any`],
    opened: ["a.test Prefix /: allow-list and basic-auth"],
  },
  {
    name: "one of two checks of which any was enough",
    before: [`a.test / web ${LOGIN} ${LIST} satisfy=any`],
    after: [`a.test / web ${LOGIN}`],
  },
  {
    name: "an open path below a protected one",
    before: [`a.test / web ${LOGIN}`],
    after: [`a.test / web ${LOGIN}`, "a.test /open web"],
    opened: ["a.test Prefix /open: basic-auth, open"],
  },
  {
    name: "a path of no-auth-locations below one with the same login",
    before: [`a.test / web ${LOGIN}`],
    after: [`a.test / web ${LOGIN}`, `a.test /.well-known/acme-challenge/x web ${LOGIN}`],
    opened: ["a.test Prefix /.well-known/acme-challenge/x: basic-auth, open"],
  },
  {
    name: "an open exact path below a protected one",
    before: [`a.test / web ${LOGIN}`],
    after: [`a.test / web ${LOGIN}`, "a.test =/open web"],
    opened: ["a.test Exact /open: basic-auth, open"],
  },
  {
    name: "a protected path that is gone, below an open one",
    before: ["a.test / web", `a.test /admin web ${LOGIN}`],
    after: ["a.test / web"],
    opened: ["a.test Prefix /: basic-auth, open"],
  },
  {
    name: "an open host below a protected wildcard",
    before: [`*.test.example / web ${LOGIN}`],
    after: [`*.test.example / web ${LOGIN}`, "a.test.example / web"],
    opened: ["a.test.example Prefix /: basic-auth, open"],
  },
  {
    name: "a path that was closed, as an annotation is not supported",
    before: ["a.test / web limit-rps=5"],
    after: ["a.test / web"],
    opened: ["a.test Prefix /: closed, open"],
  },
  {
    name: "a closed path that has a login now",
    before: ["a.test / web limit-rps=5"],
    after: [`a.test / web ${LOGIN}`],
  },
  {
    name: "a login that is new",
    before: ["a.test / web"],
    after: [`a.test / web ${LOGIN}`],
  },
  {
    name: "a list of the default backend that is gone",
    before: [`- / web ${LIST}`],
    after: ["- / web"],
    opened: ["default backend: allow-list, open"],
  },
  {
    name: "a default backend that was closed, as an annotation is not supported",
    before: ["- / web limit-rps=5"],
    after: ["- / web"],
    opened: ["default backend: closed, open"],
  },
  {
    name: "a default backend that is gone",
    before: ["- / web", "a.test / web"],
    after: ["a.test / web"],
    lost: ["default backend: 404"],
  },
  {
    name: "a default backend that does not exist",
    before: ["- / web"],
    after: ["- / wbe"],
    lost: ["default backend: 503"],
  },
  {
    name: "a rule for all hosts with another Service in place of a default backend",
    before: ["- / web"],
    after: [" / api"],
    lost: ["default backend: default/api:80"],
  },
  {
    name: "a rule for all hosts with the same Service in place of a default backend",
    before: ["- / web"],
    after: [" / web"],
  },
  {
    name: "a default backend that is gone, all of whose requests a rule for all hosts has",
    before: ["- / web", " / api"],
    after: [" / api"],
  },
  { name: "another default backend", before: ["- / web"], after: ["- / api"] },
  {
    name: "a default backend with another check beside its list",
    before: [`- / web ${LIST}`],
    after: [`- / web ${LIST} ${LOGIN}`],
  },
  {
    name: "a protected path whose requests the default backend gets now",
    before: ["- / web", `a.test / web ${LIST}`],
    after: ["- / web"],
    opened: ["default backend: allow-list, open"],
  },
  {
    name: "a rule for all hosts in place of a protected default backend",
    before: [`- / web ${LIST}`],
    after: [" / web"],
    opened: ["* Prefix /: allow-list, open"],
  },
  {
    name: "a redirect in place of a protected default backend",
    before: [`- / web ${LIST}`],
    after: ["- / web permanent-redirect=https://b.test"],
  },
  {
    name: "a host that is new below a wildcard with a protected path",
    before: [`*.test / web`, `*.test /admin web ${LIST}`],
    after: [`*.test / web`, `*.test /admin web ${LIST}`, "a.test / web"],
    opened: ["a.test Prefix /: allow-list, open"],
  },
  {
    name: "a host that is new below a protected path of all hosts",
    before: [` /admin web ${LIST}`],
    after: [` /admin web ${LIST}`, "a.test / web"],
    opened: ["a.test Prefix /: allow-list, open"],
  },
  {
    name: "a protected host that is gone below a wildcard with an open path",
    before: ["*.test /open web", `a.test / web ${LIST}`],
    after: ["*.test /open web"],
    lost: ["a.test Prefix /: 404"],
    opened: ["*.test Prefix /open: allow-list, open"],
  },
  {
    name: "a host that is new beside a protected path of another",
    before: [`b.test /admin web ${LIST}`],
    after: [`b.test /admin web ${LIST}`, "a.test / web"],
  },
  {
    name: "a protected path without a backend",
    before: [`a.test / web ${LOGIN}`],
    after: ["a.test / wbe"],
    lost: ["a.test Prefix /: 503"],
  },
];

function found(before: string, after: string): { lost: string[]; opened: string[] } {
  const [old, now] = [before, after].map((text) => planFor({ "a.yaml": text }).snapshot);
  const { lost, opened } = exposureOf(old, now);
  return {
    lost: lost.map(({ route, now }) => {
      const what = now.kind === "error"
        ? now.status
        : now.kind === "forward"
        ? now.upstreams.join(" ")
        : "redirect";
      return `${route?.id ?? "default backend"}: ${what}`;
    }),
    opened: opened.map(({ route, dropped, isOpenToAll }) =>
      `${route?.id ?? "default backend"}: ${dropped.join(" and ") || "closed"}${
        isOpenToAll ? ", open" : ""
      }`
    ),
  };
}

for (const { name, before, after, lost = [], opened = [] } of CASES) {
  const what = lost.length > 0
    ? "loses a route"
    : opened.length > 0
    ? "opens a path"
    : "is harmless";
  Deno.test(`${name}: the comparison says that it ${what}`, () => {
    const expected = { lost: [...lost], opened: [...opened] };
    assert.deepEqual(found(ingresses(...before), ingresses(...after)), expected);
  });
}

/** A Gateway, and an HTTPRoute with these rules. */
function gateway(...rules: readonly string[]): string {
  return `${SERVICES}apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: web }
spec: { gatewayClassName: pingress, listeners: [{ name: http, port: 80, protocol: HTTP }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: shop }
spec:
  parentRefs: [{ name: web }]
  hostnames: [shop.test]
  rules:
${rules.map((rule) => `    - ${rule}\n`).join("")}`;
}

const rule = (path: string, service = "web", header = "") =>
  `{ matches: [{ path: { type: PathPrefix, value: ${path} }${
    header === "" ? "" : `, headers: [{ name: ${header}, value: "yes" }]`
  } }], backendRefs: [{ name: ${service}, port: 80 }] }`;

Deno.test("a rule of an HTTPRoute that moves down in its list is not lost", () => {
  const before = gateway(rule("/a"), rule("/b", "api"));
  const after = gateway(rule("/new"), rule("/a"), rule("/b", "api"));
  assert.deepEqual(found(before, after), { lost: [], opened: [] });
});

Deno.test("a rule of an HTTPRoute that is gone is lost, and one with a condition as well", () => {
  const before = gateway(rule("/a"), rule("/b", "api"), rule("/a", "api", "X-Beta"));
  const { lost } = found(before, gateway(rule("/a")));
  assert.deepEqual(lost, [
    "default/shop 2.0 shop.test: default/web:80",
    "default/shop 1.0 shop.test: 404",
  ]);
});
