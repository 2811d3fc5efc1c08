import assert from "node:assert/strict";
import { PLAIN } from "../cli/terminal/problem_text.ts";
import { curlLines, formatReport, formatTable } from "./report.ts";
import { planFor } from "../tests/support/dev_plan.ts";

const LISTENERS = {
  http: [{ hostname: "127.0.0.1", port: 8080 }],
  https: [{ hostname: "127.0.0.1", port: 8443 }],
  sslRedirect: false,
  admin: { hostname: "127.0.0.1", port: 9090 },
  sockets: { open: [], obstacles: [], hostname: "127.0.0.1" },
};

function ingress(rules: string, name = "app"): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${name} }
spec:
  rules: ${rules}
---
`;
}

function rule(host: string, path: string, type = "Prefix", service = "web"): string {
  const backend = `{ service: { name: ${service}, port: { number: 80 } } }`;
  const written = host === "" ? "" : `host: "${host}", `;
  return `{ ${written}http: { paths: [{ path: "${path}", pathType: ${type}, backend: ${backend} }] } }`;
}

const WEB = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`;

Deno.test("the table has a row for each route, with its backend", () => {
  const plan = planFor({
    "a.yaml": ingress(`[${rule("a.example.com", "/x", "Exact")}, ${rule("", "/")}]`) + WEB,
    "b.yaml": ingress(`[${rule("b.example.com", "/", "Prefix", "gone")}]`, "b"),
  }, { defaultBackend: { namespace: "default", name: "web", port: 80 } });
  const rows = formatTable(plan).split("\n").map((line) => line.split(/ {2,}/));
  assert.deepEqual(rows, [
    ["HOST", "PATH", "BACKEND", "TLS", "GOES TO"],
    ["a.example.com", "Exact", "/x", "default/web:80", "-", "sample backend"],
    ["b.example.com", "Prefix /", rows[2][2], "-", "-"],
    ["(any other)", "Prefix /", "default/web:80", "-", "sample backend"],
    ["(anything else)", "default/web:80", "-", "sample backend"],
  ]);
  assert.match(rows[2][2], /^503: /);
});

Deno.test("the printed command reaches the route that it is for", () => {
  for (
    const [rules, expected] of [
      [[rule("a.example.com", "/")], 'curl -H "Host: a.example.com" http://127.0.0.1:8080/'],
      [
        [rule("*.example.com", "/"), rule("any.example.com", "/", "Exact")],
        'curl -H "Host: any.example.com" http://127.0.0.1:8080/',
      ],
      [
        [rule("*.example.com", "/api")],
        'curl -H "Host: any.example.com" http://127.0.0.1:8080/api',
      ],
      [[rule("", "/x")], "curl http://127.0.0.1:8080/x"],
      [
        [rule("a.example.com", "/it's;ls")],
        `curl -H "Host: a.example.com" 'http://127.0.0.1:8080/it'\\''s;ls'`,
      ],
      [
        [rule("a.example.com", "/", "Prefix", "gone"), rule("", "/here")],
        "curl http://127.0.0.1:8080/here",
      ],
    ] as const
  ) {
    const plan = planFor({ "a.yaml": ingress(`[${rules.join(", ")}]`) + WEB });
    assert.deepEqual(curlLines(plan.snapshot, LISTENERS), [expected]);
  }
});

Deno.test("a host with a certificate gets a command for HTTPS, and only that if HTTP redirects", () => {
  const tls = `  tls: [{ hosts: ["*.apps.example.com"], secretName: example-tls }]\n---\n`;
  const plan = planFor({
    "a.yaml": ingress(`[${rule("*.apps.example.com", "/x")}]`).replace("---\n", tls) + WEB,
    "b.yaml": ingress(`[${rule("", "/y")}]`, "b"),
    "s.yaml": Deno.readTextFileSync(new URL("../examples/5-tls.yaml", import.meta.url)),
  });
  const http = 'curl -H "Host: any.apps.example.com" http://127.0.0.1:8080/x';
  const https = "curl --insecure --resolve any.apps.example.com:8443:127.0.0.1 " +
    "https://any.apps.example.com:8443/x";
  assert.deepEqual(curlLines(plan.snapshot, LISTENERS), [http, https]);
  assert.deepEqual(
    curlLines(plan.snapshot, { ...LISTENERS, sslRedirect: true }),
    ["curl http://127.0.0.1:8080/y", https],
  );
});

Deno.test("a host whose Service speaks HTTP/2 gets a command with HTTP/2", () => {
  const rpc = WEB.replace("name: web", "name: rpc").replace(
    /port: 80\b/,
    "port: 80, appProtocol: grpc",
  );
  assert.notEqual(rpc, WEB);
  const rules = [rule("a.example.com", "/"), rule("rpc.example.com", "/", "Prefix", "rpc")];
  const plan = planFor({ "a.yaml": ingress(`[${rules.join(", ")}]`) + `${WEB}---\n${rpc}` });
  assert.deepEqual(curlLines(plan.snapshot, LISTENERS), [
    'curl -H "Host: a.example.com" http://127.0.0.1:8080/',
    'curl --http2-prior-knowledge -H "Host: rpc.example.com" http://127.0.0.1:8080/',
  ]);
});

Deno.test("a listener on all addresses is reached on this machine, and without routes there is no command", () => {
  const plan = planFor({ "a.yaml": ingress(`[${rule("", "/")}]`) + WEB });
  const linesAt = (hostname: string) =>
    curlLines(plan.snapshot, { ...LISTENERS, http: [{ hostname, port: 1 }] });
  assert.deepEqual(linesAt("0.0.0.0"), ["curl http://127.0.0.1:1/"]);
  assert.deepEqual(linesAt("::"), ["curl 'http://[::1]:1/'"]);
  assert.deepEqual(curlLines(planFor({}).snapshot, LISTENERS), []);
  const defaultBackend = { namespace: "default", name: "web", port: 80 };
  const fallback = planFor({ "a.yaml": WEB }, { defaultBackend });
  assert.deepEqual(curlLines(fallback.snapshot, LISTENERS), ["curl http://127.0.0.1:8080/"]);
  assert.match(formatReport(planFor({}), LISTENERS, PLAIN), /^Nothing is served/);
});

Deno.test("a manifest cannot send control characters to the terminal", () => {
  const text = ingress(`[${rule("a\\u001b[2Jb", "/\\u009b")}]`).replace(
    "app",
    "app\n  annotations: { nginx.ingress.kubernetes.io/\u202ex: y }",
  ) +
    'apiVersion: "v1\\u001b[31m"\nkind: "Ser\\u0007vice"\nmetadata: { name: web }\n';
  const plan = planFor({ "a.yaml": text, "\u001b[2J.yaml": "{" });
  const report = formatReport(plan, LISTENERS, PLAIN);
  assert.ok(plan.problems.length >= 2);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(report.replaceAll("\n", ""), /[\x00-\x1f\x7f-\x9f\u202e]/);
});

Deno.test("a long table is truncated with a note", () => {
  const rules = Array.from({ length: 150 }, (_, i) => rule(`h${i}.example.com`, "/"));
  const lines = formatTable(planFor({ "a.yaml": ingress(`[${rules.join(", ")}]`) + WEB })).split(
    "\n",
  );
  assert.equal(lines.length, 102);
  assert.equal(lines[101], "… and 50 routes more");
});

Deno.test("routes that redirect or protect are shown as such, and get no command", () => {
  const annotated = (name: string, annotation: string) =>
    ingress(`[${rule(`${name}.example.com`, "/")}]`, name)
      .replace(
        "metadata: {",
        `metadata: { annotations: { nginx.ingress.kubernetes.io/${annotation} },`,
      );
  const plan = planFor({
    "a.yaml": annotated("a", "permanent-redirect: https://www.example.com/") +
      annotated("b", "whitelist-source-range: 10.0.0.0/8") +
      annotated("c", "auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: gone") +
      ingress(`[${rule("d.example.com", "/")}]`, "d") + WEB,
  }, { nginxClasses: ["pingress"] });
  const backends = formatTable(plan).split("\n").map((line) => line.split(/ {2,}/)[2]);
  assert.deepEqual(backends, [
    "BACKEND",
    "301 to https://www.example.com/",
    "default/web:80",
    "503: the users of default/gone auth-file cannot be read",
    "default/web:80",
  ]);
  assert.deepEqual(curlLines(plan.snapshot, LISTENERS), [
    'curl -H "Host: d.example.com" http://127.0.0.1:8080/',
  ]);
});

Deno.test("a path of no-auth-locations gets a command unless the users of its Ingress cannot be read", () => {
  const path = "/.well-known/acme-challenge/x";
  const planWith = (secret: string) =>
    planFor({
      "a.yaml": ingress(`[${rule("a.example.com", path)}]`)
        .replace(
          "metadata: {",
          "metadata: { annotations: { nginx.ingress.kubernetes.io/auth-type: basic, " +
            "nginx.ingress.kubernetes.io/auth-secret: users },",
        ) + WEB + secret,
    }, { nginxClasses: ["pingress"] });
  const gone = planWith("");
  assert.match(formatTable(gone), / 503: the users of default\/users auth-file cannot be read/);
  assert.deepEqual(curlLines(gone.snapshot, LISTENERS), []);
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: { name: users }\n" +
    'stringData: { auth: "a:{PLAIN}b" }\n';
  const there = planWith(`---\n${secret}`);
  assert.match(formatTable(there), / default\/web:80/);
  assert.deepEqual(curlLines(there.snapshot, LISTENERS), [
    `curl -H "Host: a.example.com" http://127.0.0.1:8080${path}`,
  ]);
});

Deno.test("a default backend that redirects or protects is shown as such, and gets no command", () => {
  for (
    const [annotation, backend] of [
      ["permanent-redirect: https://www.example.com/", "301 to https://www.example.com/"],
      ["whitelist-source-range: 10.0.0.0/8", "default/web:80"],
    ]
  ) {
    const text = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: all, annotations: { nginx.ingress.kubernetes.io/${annotation} } }
spec:
  ingressClassName: pingress
  defaultBackend: { service: { name: web, port: { number: 80 } } }
---
`;
    const plan = planFor({ "a.yaml": text + WEB }, { nginxClasses: ["pingress"] });
    assert.equal(formatTable(plan).split("\n")[1].split(/ {2,}/)[1], backend);
    assert.deepEqual(curlLines(plan.snapshot, LISTENERS), []);
  }
});

Deno.test("a long reason is cut in the table, and whole among the problems", () => {
  const web = ingress(`[${rule("a.example.com", "/", "Prefix", "web")}]`)
    .replace(
      "metadata: {",
      "metadata: { annotations: { nginx.ingress.kubernetes.io/limit-rps: '5' },",
    );
  const plan = planFor({ "a.yaml": web + WEB });
  assert.match(formatTable(plan), /\n.* 503: [^ ].*… {2}/);
  assert.match(
    formatReport(plan, LISTENERS, PLAIN),
    /limit-rps" is not supported, so its paths return 503\n/,
  );
});
