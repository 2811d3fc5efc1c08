import assert from "node:assert/strict";
import { join } from "node:path";
import { type Explained, explained } from "../../tests/support/explained.ts";
import { NGINX_PROFILE, planFor } from "../../tests/support/dev_plan.ts";
import type { PathOptions } from "../../shared/path/canonical_path.ts";
import { shortHints } from "../../cli/explain/short_text.ts";
import type { Question } from "./question.ts";

const EXAMPLES = join(import.meta.dirname!, "..", "..", "examples");

function examples(): Record<string, string> {
  const names = [...Deno.readDirSync(EXAMPLES)].map(({ name }) => name).sort();
  return Object.fromEntries(
    names.map((name) => [name, Deno.readTextFileSync(join(EXAMPLES, name))]),
  );
}

function explainText(
  text: string,
  files = examples(),
  sslRedirect = false,
  pathOptions?: PathOptions,
  details: Pick<Question, "method" | "headers"> = { method: "GET", headers: [] },
): Explained {
  return explained(text, files, { sslRedirect, pathOptions, ...details });
}

Deno.test("the matching route is named with its object, field and place", () => {
  const { text, isForwarded } = explainText("https://app.example.com/api/users?x=1");
  assert.ok(isForwarded);
  assert.match(
    text,
    /\nRoute: app\.example\.com Prefix \/api\n {2}forwards to default\/api:rest\n/,
  );
  assert.match(
    text,
    / from Ingress default\/app, spec\.rules\[0\]\.http\.paths\[1\] \(3-app\.yaml:\d+:\d+\)/,
  );
});

Deno.test("an address of IPv6 is shown as a client writes it", () => {
  assert.match(
    explainText("http://[::1]:8080/x").text,
    /^http:\/\/\[::1\]\/x\n {2}host {2}\[::1\]\n/,
  );
});

Deno.test("a certificate that cannot be read is not known, in text, in a line and in JSON", () => {
  const why = "cannot connect to port 9091 of pod controller-a";
  const at = (url: string, unread: string | null) =>
    explained(url, examples(), { certificatesUnread: unread });
  const { text, explanation } = at("https://app.example.com/api", why);
  assert.match(text, new RegExp(`\nCertificate: not known: ${why}\n`));
  assert.doesNotMatch(text, /Certificate: none/);
  assert.deepEqual(
    explanation.certificates.map(({ origin, isKnown }) => [origin, isKnown]),
    [[null, false]],
  );
  assert.deepEqual(shortHints(explanation), [`  certificate not known: ${why}`]);
  const notes = [`${why}; check the pod`, "cannot list nodes; allow the verb list on nodes"];
  assert.deepEqual(shortHints({ ...explanation, notes }), [
    `  certificate not known: ${why}`,
    `  not known: ${notes[1]}`,
  ]);
  const plain = at("http://plain.example.com/", why).text;
  assert.match(plain, /\nRedirect: not known, as the certificate of the host is not\n/);
  const known = at("https://app.example.com/api", null);
  assert.doesNotMatch(known.text, /not known/);
  assert.deepEqual(shortHints(known.explanation), []);
});

Deno.test("the request is shown with its query, and with method and headers if given", () => {
  const url = "https://app.example.com/api/users?x=1#no";
  assert.match(explainText(url).text, /^https:\/\/app\.example\.com\/api\/users\?x=1\n/);
  assert.doesNotMatch(explainText(url).text, /^ {2}(method|header) /m);
  const details = { method: "POST", headers: [["X-Beta", "yes"], ["A", "b"]] } as const;
  const { text } = explainText(url, examples(), false, undefined, details);
  assert.match(text, /\n {2}method {2}POST\n {2}header {2}X-Beta: yes\n {2}header {2}A: b\n/);
});

Deno.test("every other route of the host is named with the reason why it lost", () => {
  const { text } = explainText("https://app.example.com/api/users");
  assert.match(
    text,
    /\n {2}app\.example\.com Exact \/api\/about\n {4}lost because Exact \/api\/about matches this path only/,
  );
  assert.match(text, /\n {2}app\.example\.com Prefix \/\n {4}lost because the longer Prefix \/api/);
  assert.match(text, /\n {2}\* Exact \/status\n {4}lost because its host \* is less specific/);
});

Deno.test("the owner of the host is named, and rules of other namespaces with the reason why they lost", () => {
  const rule = (namespace: string, at: string, host = "shop.test") =>
    `kind: Ingress
apiVersion: networking.k8s.io/v1
metadata: {name: shop, namespace: ${namespace}, creationTimestamp: "${at}"}
spec: {rules: [{host: ${host}, http: {paths: [
  {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
`;
  const files = {
    "a.yaml": rule("victim", "2024-01-01T00:00:00Z"),
    "b.yaml": rule("evil", "2025-01-01T00:00:00Z"),
  };
  const { text } = explainText("http://shop.test/", files);
  assert.match(text, /\nOwner: namespace victim, which has shop\.test: it has the oldest claim/);
  assert.match(text, /host shop\.test belongs to namespace victim, [^\n]*so the rule is rejected/);
  const namespace = `kind: Namespace
apiVersion: v1
metadata: {name: evil, annotations: {pingress.io/hosts: shop.test}}
`;
  const assigned = explainText("http://shop.test/", { ...files, "c.yaml": namespace }).text;
  assert.match(assigned, /\nOwner: namespace evil, which has shop\.test: its Namespace says so\n/);
  assert.match(explainText("http://other.test/", files).text, /\nOwner: none, as no rule names/);
});

Deno.test("the certificate shows its names, issuer and last day", () => {
  const { text } = explainText("https://blue.apps.example.com/");
  assert.match(
    text,
    /\nCertificate: Secret default\/example-tls, since its \*\.apps\.example\.com takes/,
  );
  assert.match(text, /\n {2}names {4}app\.example\.com, \*\.apps\.example\.com\n/);
  assert.match(text, /\n {2}issuer {3}O=Pingress demo, CN=app\.example\.com \(itself\)\n/);
  assert.match(text, /\n {2}expires {2}2125-01-01 \(34698 days left\)/);
  assert.match(explainText("https://other.example.com/").text, /\nCertificate: none, since/);
});

Deno.test("endpoints are those of the manifests, with their local replacements", () => {
  const { text } = explainText("https://app.example.com/api");
  assert.match(
    text,
    /\nEndpoints of default\/api:rest:\n {2}protocol: HTTP\/1\.1 in plain text\n/,
  );
  assert.match(text, /\n {2}10\.1\.0\.21:8000 +gets requests\n/);
  assert.match(text, /\n {2}10\.1\.0\.22:8000 +gets none: not ready\n/);
  assert.match(text, /\n {2}deno task dev sends it to: sample backend\n/);
  const rpc = explainText("http://grpc.example.com/").text;
  assert.match(
    rpc,
    /\nEndpoints of default\/greeter:grpc:\n {2}protocol: HTTP\/2 in plain text\n/,
  );
});

Deno.test("a path is shown as sent and as matched", () => {
  assert.match(
    explainText("https://app.example.com/x/../%61pi").text,
    /\n {2}path {2}\/x\/\.\.\/%61pi, matched as \/api\n/,
  );
});

Deno.test("the subrequest that authenticates a request is named", () => {
  const files = {
    "web.yaml": `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations: {nginx.ingress.kubernetes.io/auth-url: "http://auth.default.svc:4180/auth?x=$arg_x"}
spec:
  ingressClassName: pingress
  rules:
  - host: app.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: auth, port: {number: 4180}}}}
---
apiVersion: v1
kind: Service
metadata: {name: auth}
spec: {ports: [{port: 4180}]}
`,
    "class.yaml": NGINX_PROFILE,
  };
  const { text } = explainText("http://app.example.com/", files);
  assert.match(
    text,
    /\n {2}authenticates by GET http:\/\/auth\.default\.svc\/auth\?x=\$arg_x \(default\/auth:4180\+http\+auth\)\n/,
  );
});

Deno.test("a missing route and a rejected path are reported", () => {
  const files = examples();
  delete files["4-wildcard-and-default.yaml"];
  const none = explainText("http://nobody.example.com/", files);
  assert.equal(none.isForwarded, false);
  assert.match(none.text, /\nRoute: none matches this path of nobody\.example\.com.*: 404\n/);
  const refused = explainText("http://app.example.com/%zz", files);
  assert.equal(refused.isForwarded, false);
  assert.match(refused.text, /\nRoute: none, since the path has a broken escape.*: 400\n/);
});

Deno.test("problems are those that affect the host", () => {
  const ingress = (name: string, host: string) =>
    `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: ${name} }
spec:
  rules: [{ host: "${host}", http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: ${name}, port: { number: 80 } } } }] } }]
`;
  const files = {
    "a.yaml": ingress("a", "a.example.com"),
    "b.yaml": ingress("b", "b.example.com"),
    "c.yaml": ingress("c", "c_c.example.com"),
    "d.yaml": "{",
  };
  const about = (host: string) =>
    [...explainText(`http://${host}/`, files).text.matchAll(/^ {2}error {2}\w+ {2}(\w\.yaml):/gm)]
      .map(([, file]) => file);
  assert.deepEqual(about("a.example.com"), ["a.yaml", "d.yaml"]);
  assert.deepEqual(about("c_c.example.com"), ["c.yaml", "d.yaml"]);
  assert.deepEqual(about("none.example.com"), ["d.yaml"]);
});

/** An Ingress whose one rule has this host and path, with more of its metadata. */
function ingressFor(host: string, path: string, metadata = "name: web"): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { ${metadata} }
spec:
  rules:
    - host: "${host}"
      http:
        paths: [{ path: ${path}, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }]
---
`;
}

Deno.test("a host whose paths are all rejected is reported as not served", () => {
  const files = { "a.yaml": ingressFor("a.example.com", '"/%zz"') };
  const { text, isForwarded } = explainText("http://a.example.com/", files);
  assert.equal(isForwarded, false);
  assert.match(text, /\n {2}returns 404: the host has no path that can be served/);
});

Deno.test("a path is explained as by proxies with --merge-slashes and --refuse-escaped-slashes", () => {
  const strict = { mergeSlashes: true, refuseEscapedSlashes: true };
  const explained = (path: string, options?: PathOptions) =>
    explainText(`https://app.example.com${path}`, examples(), false, options).text;
  assert.match(explained("//api"), /\nRoute: app\.example\.com Prefix \/\n/);
  assert.match(explained("//api", strict), /\n {2}path {2}\/\/api, matched as \/api\n/);
  assert.match(explained("//api", strict), /\nRoute: app\.example\.com Prefix \/api\n/);
  assert.doesNotMatch(explained("/api%2fx"), /escaped slash/);
  assert.match(explained("/api%2fx", strict), /the path has an escaped slash or backslash/);
});

Deno.test("plain HTTP to a host with a certificate is shown as redirected", () => {
  const table: [url: string, sslRedirect: boolean, says: string | null][] = [
    [
      "http://app.example.com/api/x",
      false,
      "https://app.example.com/api/x, as the host has a cert",
    ],
    ["http://app.example.com/api/x", true, "https://app.example.com/api/x, as the host has a cert"],
    ["https://app.example.com/api/x", true, null],
    ["http://app.example.com/.well-known/acme-challenge/x", true, null],
    ["http://app.example.com/%zz", true, null],
    ["http://grpc.example.com/", false, null],
    [
      "http://grpc.example.com/",
      true,
      "https://grpc.example.com/ by deno task dev, as it generates",
    ],
  ];
  for (const [url, sslRedirect, says] of table) {
    const { text } = explainText(url, examples(), sslRedirect);
    const [, location = null] = text.match(/^Redirect: 308 to (.*)$/m) ?? [];
    if (says === null) assert.equal(location, null, url);
    else assert.ok(location?.startsWith(says), `${url}: ${location}`);
  }
});

Deno.test("the redirect of an Ingress whose Secret is missing is shown, which dev follows by its flag alone", () => {
  const written = 'name: a, annotations: { nginx.ingress.kubernetes.io/ssl-redirect: "true" }';
  const files = {
    "a.yaml": ingressFor("a.example.com", "/", written)
      .replace("spec:", "spec:\n  tls: [{ hosts: [a.example.com], secretName: missing }]"),
  };
  for (
    const [sslRedirect, inDev] of [
      [false, "does so with --ssl-redirect only"],
      [true, "redirects to its own port"],
    ] as const
  ) {
    const { text } = explainText("http://a.example.com/x", files, sslRedirect);
    assert.match(text, /^Redirect: 308 to https:\/\/a\.example\.com\/x, as the route .* has TLS/m);
    assert.match(text, new RegExp(`^ {2}deno task dev ${inDev}`, "m"));
  }
});

Deno.test("an Ingress whose host and path another one has is among the losers", () => {
  const files = {
    "a.yaml": ingressFor("a.example.com", "/", "name: first") +
      ingressFor("a.example.com", "/", "name: second"),
    "b.yaml": ingressFor("b.example.com", "/", "name: third"),
  };
  const { text } = explainText("http://a.example.com/", files);
  assert.match(
    text,
    /^Considered:\n {2}a\.example\.com Prefix \/\n {4}left out: .*default\/first.*\n {4}from Ingress default\/second, spec\.rules\[0\]\.http\.paths\[0\] \(a\.yaml:\d+:\d+\)\n\n/m,
  );
  assert.match(explainText("http://b.example.com/", files).text, /^Considered: no other route/m);
});

Deno.test("a path that is left out names its true reason", () => {
  const owner = ingressFor(
    "a.example.com",
    "/",
    'name: o, creationTimestamp: "2020-01-01T00:00:00Z"',
  );
  const others: readonly (readonly [other: string, reason: RegExp])[] = [
    [
      ingressFor(
        "a.example.com",
        "/",
        'name: c, annotations: { nginx.ingress.kubernetes.io/canary: "true" }',
      ),
      /canaries are not supported, so the whole Ingress is left out/,
    ],
    // The warning about its capitals is not why.
    [
      ingressFor(
        "A.example.com",
        "/x",
        'name: e, namespace: evil, creationTimestamp: "2024-01-01T00:00:00Z"',
      ),
      /host a\.example\.com belongs to namespace default/,
    ],
  ];
  for (const [other, reason] of others) {
    const { text } = explainText("http://a.example.com/", { "a.yaml": owner + other });
    const [, because] = text.match(/^ {4}left out: (.*)$/m) ?? [];
    assert.match(because, reason);
  }
});

Deno.test("a local reply does not count as served", () => {
  const ingress = ingressFor("a.example.com", "/");
  const service = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ name: http, port: 8080 }] }
`;
  const table: [files: Record<string, string>, isForwarded: boolean][] = [
    [{ "a.yaml": `${ingress}${service}` }, false],
    [{ "a.yaml": `${ingress}${service.replace("8080", "80")}` }, true],
  ];
  for (const [files, isForwarded] of table) {
    const explained = explainText("http://a.example.com/", files);
    assert.equal(explained.isForwarded, isForwarded, explained.text);
  }
});

Deno.test("only hosts of rules are shown with a generated certificate", () => {
  const files = {
    "a.yaml": ingressFor("a.example.com", "/") + ingressFor("*.b.example.com", "/", "name: b") +
      ingressFor("", "/", "name: any"),
  };
  const table: [host: string, says: RegExp][] = [
    ["a.example.com", /deno task dev generates one\n/],
    ["x.b.example.com", /deno task dev generates one\n/],
    ["other.example.com", /deno task dev generates none, as no rule has the host/],
    ["localhost", /deno task dev generates one for this machine's names/],
  ];
  for (const [host, says] of table) assert.match(explainText(`https://${host}/`, files).text, says);
});

Deno.test("an endpoint without requests has the reason", () => {
  const files = {
    "a.yaml": `${ingressFor("a.example.com", "/")}apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ name: http, port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: one, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints:
  - { addresses: [10.0.0.1] }
  - { addresses: [10.0.0.2], conditions: { ready: false } }
  - { addresses: [10.0.0.3], conditions: { ready: false, serving: true, terminating: true } }
  - { addresses: [web.example.com] }
ports: [{ name: http, port: 8080 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: two, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [10.0.0.4] }]
ports: [{ name: admin, port: 8081 }]
`,
  };
  const { text } = explainText("http://a.example.com/", files);
  const rows = [...text.matchAll(/^ {2}(\S+) +(gets .*)$/gm)].map(([, address, says]) =>
    `${address} ${says}`
  );
  assert.deepEqual(rows, [
    "10.0.0.1:8080 gets requests",
    "10.0.0.2:8080 gets none: not ready",
    "10.0.0.3:8080 gets none: terminating, and others are ready",
    "web.example.com gets none: it is no IP address",
    "10.0.0.4 gets none: its EndpointSlice has no TCP port http",
  ]);
});

Deno.test("the problem of a rejected Ingress is shown for the host that it names", () => {
  const files = {
    "a.yaml": ingressFor("a.example.com", "/", "name: web, namespace: Team_A"),
    "b.yaml": ingressFor("b.example.com", "/", "name: web, namespace: Team_B"),
    "c.yaml": ingressFor("a.example.com", "/", "name: Web"),
    "d.yaml": ingressFor("a.example.com", "/").replace(
      "networking.k8s.io/v1",
      "extensions/v1beta1",
    ),
  };
  const { text } = explainText("http://a.example.com/", files);
  assert.deepEqual(
    [...text.matchAll(/^ {2}error {2}\w+ {2}(\w\.yaml):/gm)].map(([, file]) => file),
    [
      "a.yaml",
      "c.yaml",
      "d.yaml",
    ],
  );
});

Deno.test("an unknown field that may hide the rules for the host is shown", () => {
  const files = {
    "a.yaml": ingressFor("a.example.com", "/").replace("rules:", "rule:"),
    "b.yaml": ingressFor("b.example.com", "/").replace("pathType:", "pathTyp:"),
  };
  const { text } = explainText("http://a.example.com/", files);
  assert.match(
    text,
    /FieldUnknown {2}a\.yaml:\d+:\d+ {2}spec\.rule\n(?: {4}.*\n)*.*"rule".*\n.*"rules"/,
  );
  assert.doesNotMatch(text, /b\.yaml/);
});

Deno.test("the examples have no problems, and every documented path is served", () => {
  const plan = planFor(examples());
  assert.deepEqual(plan.problems, []);
  assert.equal(plan.snapshot.certificates.length, 1);
  for (const { action } of plan.snapshot.routes) assert.equal(action.kind, "forward");
  const upstreams = plan.snapshot.upstreams;
  for (const { addresses } of upstreams) {
    assert.ok(addresses.kind === "endpoints" && addresses.endpoints.length > 0);
  }
});

/** What an Ingress says by annotations of ingress-nginx, and a line about it; null where a backend gets `/`. */
const ANNOTATED: readonly (readonly [annotations: string, line: string, isForwarded: boolean])[] = [
  [
    "permanent-redirect: https://b.example.com",
    "redirects with 301 to https://b.example.com",
    false,
  ],
  ["app-root: /app", "redirects with 302 to /app", false],
  ["whitelist-source-range: 10.0.0.0/8", "admits clients of 10.0.0.0/8; others get 403", true],
  ["denylist-source-range: 10.0.0.0/8", "rejects clients of 10.0.0.0/8 with 403", true],
  [
    "auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: users",
    "requires a user and password of default/users auth-file",
    true,
  ],
  [
    "auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: gone",
    "returns 503: the users of default/gone auth-file cannot be read",
    false,
  ],
];

const RULES = `rules:
  - host: a.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}`;
const DEFAULT_BACKEND = "defaultBackend: {service: {name: web, port: {number: 80}}}";

for (
  const [annotations, line, isForwarded, spec, what] of ANNOTATED.flatMap((each) => [
    [...each, RULES, "a path"] as const,
    [...each, DEFAULT_BACKEND, "a default backend"] as const,
  ])
) {
  Deno.test(`explain shows ${annotations} of ${what}, and whether it gets the request`, () => {
    const files = {
      "a.yaml": `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations: { nginx.ingress.kubernetes.io/${annotations} }
spec:
  ingressClassName: pingress
  ${spec}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: users}
stringData: { auth: "a:{PLAIN}b" }
`,
      "class.yaml": NGINX_PROFILE,
    };
    const explained = explainText("http://a.example.com/", files);
    assert.ok(explained.text.includes(`\n  ${line}\n`), explained.text);
    assert.equal(explained.isForwarded, isForwarded);
  });
}

Deno.test("explain knows that a Service without endpoints gets no request", () => {
  const files = {
    "a.yaml": `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: pingress
  defaultBackend: {service: {name: web, port: {number: 80}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: []
`,
  };
  assert.equal(explainText("http://a.example.com/", files).isForwarded, false);
});
