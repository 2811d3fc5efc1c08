import assert from "node:assert/strict";
import { inspect } from "node:util";
import type { Snapshot } from "./types.ts";
import { upstreamsOf } from "./forward_action.ts";
import { parseSnapshot } from "./parse.ts";
import { serialiseSnapshot } from "./serialise.ts";

const KEY = "-----BEGIN PRIVATE KEY-----\nMIIsecret\n-----END PRIVATE KEY-----\n";
const ORIGIN = { kind: "Ingress", namespace: "default", name: "web", field: "spec.rules[0]" };

const FIRST_ROUTE = {
  id: "app.example.com Exact /login",
  host: "app.example.com",
  match: { path: { type: "Exact", value: "/login" } },
  action: { kind: "forward", backends: [{ upstream: "default/web:80" }] },
  origin: ORIGIN,
};

/** A snapshot with every field there is, as JSON, in the order in which they are written. */
const WHOLE = {
  format: 2,
  version: { epoch: "6a1c", seen: { Ingress: "12", Secret: "345678901234567890" } },
  routes: [
    FIRST_ROUTE,
    {
      id: "* Prefix /",
      host: "*",
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "reply", status: 503, reason: "Service default/x is missing" },
      origin: ORIGIN,
    },
  ],
  defaultAction: { kind: "forward", backends: [{ upstream: "default/ext:http" }] },
  upstreams: [
    {
      id: "default/ext:http",
      protocol: "https",
      addresses: { kind: "dns", name: "api.example.org", port: 443 },
      tls: {
        serverName: "api.example.org",
        ca: { kind: "pem", pem: "-----BEGIN CERTIFICATE-----\n" },
        clientCertificate: "0abc",
        verify: false,
      },
    },
    {
      id: "default/web:80",
      protocol: "http",
      addresses: {
        kind: "endpoints",
        endpoints: [
          { address: "10.0.0.1", port: 8080, zone: "a", hints: ["a", "b"] },
          { address: "fd00::1", port: 8080 },
        ],
      },
      balance: "least-requests",
      grpcWeb: true,
    },
  ],
  certificates: [
    {
      id: "0abc",
      hosts: ["*.example.com", "app.example.com"],
      chain: { kind: "pem", pem: "-----BEGIN CERTIFICATE-----\n" },
      key: { kind: "secret", pem: KEY },
      origin: ORIGIN,
    },
    {
      id: "/keys/tls.crt",
      hosts: [],
      chain: { kind: "file", path: "/keys/tls.crt" },
      key: { kind: "file", path: "/keys/tls.key" },
      origin: ORIGIN,
    },
  ],
  defaultCertificate: "/keys/tls.crt",
  loopMark: "pingress-0123456789abcdef",
  denied: ["10.96.0.0/12", "192.0.2.1", "2001:db8::/64"],
  trustedProxies: ["10.0.0.0/8", "2001:db8::1"],
  blockedClients: {
    networks: ["198.51.100.0/24"],
    userAgents: [{ type: "Exact", value: "" }, { type: "Regex", value: "[bB]ot" }],
    referers: [{ type: "Exact", value: "http://spam.test/" }],
  },
};

type Json = Record<string, unknown>;

/** The whole snapshot with other values at places such as `routes.0.host`; undefined removes. */
function changed(places: Json): Json {
  const copy: Json = JSON.parse(JSON.stringify(WHOLE));
  for (const [place, value] of Object.entries(places)) {
    const names = place.split(".");
    let parent = copy;
    for (const name of names.slice(0, -1)) parent = parent[name] as Json;
    parent[names[names.length - 1]] = value;
  }
  return copy;
}

function parse(value: unknown) {
  return parseSnapshot(JSON.stringify(value));
}

/** `severity path: message` of each problem. */
function lines(text: string): string[] {
  return parseSnapshot(text).problems
    .map(({ severity, path, message }) => `${severity} ${path}: ${message}`);
}

function parsed(value: unknown): Snapshot {
  const { snapshot, problems } = parse(value);
  assert.deepEqual(problems, []);
  assert.ok(snapshot !== null);
  return snapshot;
}

Deno.test("a snapshot is parsed completely, and serialised to the same bytes", () => {
  const snapshot = parsed(WHOLE);
  const key = snapshot.certificates[0].key;
  assert.equal(key.kind === "secret" && key.pem.reveal(), KEY);
  const text = serialiseSnapshot(snapshot, { revealKeys: true });
  assert.deepEqual(JSON.parse(text), WHOLE);
  assert.equal(text, JSON.stringify(WHOLE));
  const again = parseSnapshot(text).snapshot!;
  assert.equal(serialiseSnapshot(again, { revealKeys: true }), text);
});

Deno.test("the order of fields does not affect the serialised snapshot", () => {
  const shuffled = JSON.parse(JSON.stringify(WHOLE), (_key, value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).reverse());
  });
  assert.notEqual(JSON.stringify(shuffled), JSON.stringify(WHOLE));
  const options = { revealKeys: true };
  assert.equal(
    serialiseSnapshot(parsed(shuffled), options),
    serialiseSnapshot(parsed(WHOLE), options),
  );
});

Deno.test("keys are redacted, and a file without its keys is rejected", () => {
  const snapshot = parsed(WHOLE);
  const redacted = serialiseSnapshot(snapshot, { revealKeys: false });
  for (const shown of [redacted, JSON.stringify(snapshot), inspect(snapshot, { depth: 9 })]) {
    assert.equal(shown.includes("MIIsecret"), false);
    assert.equal(shown.includes("[redacted]"), true);
  }
  assert.deepEqual(lines(redacted), [
    "error $.certificates[0].key.pem: the key was left out when the file was written",
  ]);
  assert.equal(parseSnapshot(redacted).snapshot, null);
});

Deno.test("a problem does not show a key, wherever it is", () => {
  const misplaced: [place: string, value: unknown][] = [
    ["certificates.0.key", KEY],
    ["certificates.0.key.pem", [KEY]],
    ["certificates.0", KEY],
    ["certificates", KEY],
    ["version.seen", KEY],
  ];
  for (const [place, value] of misplaced) {
    const { snapshot, problems } = parse(changed({ [place]: value }));
    assert.equal(snapshot, null);
    assert.equal(JSON.stringify(problems).includes("MIIsecret"), false);
  }
  const broken = JSON.stringify(WHOLE).replace("MIIsecret", 'MIIsecret"');
  assert.equal(JSON.stringify(parseSnapshot(broken)).includes("secret"), false);
});

Deno.test("optional fields have their defaults", () => {
  const route = {
    host: "App.Example.com.",
    match: { path: { type: "Prefix", value: "/a/%62/../c//" } },
    action: { kind: "reply", status: 404, reason: "" },
  };
  assert.deepEqual(parsed({ format: 2, routes: [route] }), {
    format: 2,
    version: { epoch: "file", seen: {} },
    routes: [{
      id: "app.example.com Prefix /a/c",
      host: "app.example.com",
      match: { path: { type: "Prefix", value: "/a/c" } },
      action: route.action,
      origin: { kind: "File", namespace: "", name: "", field: "$.routes[0]" },
    }],
    defaultAction: null,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
  });
});

Deno.test("each error is reported with its place, and rejects the file", async (t) => {
  const table: [place: string, value: unknown, ...problems: string[]][] = [
    ["routes", undefined, "$.routes: an array is needed, not nothing"],
    ["routes", {}, "$.routes: an array is needed, not an object"],
    ["routes.1", null, "$.routes[1]: an object is needed, not null"],
    ["routes.1.id", 7, "$.routes[1].id: a text is needed, not a number"],
    ["routes.1.id", "", "$.routes[1].id: it is empty"],
    [
      "routes.1.id",
      "app.example.com Exact /login",
      "$.routes[1]: it has the id of $.routes[0]",
    ],
    [
      "routes.2",
      { ...FIRST_ROUTE, id: "x" },
      "$.routes[2]: it has the host and match of $.routes[0]",
    ],
    [
      "routes.0.host",
      "a_b",
      '$.routes[0].host: the host "a_b" has a label with other than letters, digits and inner ' +
      "hyphens",
    ],
    ["routes.0.host", undefined, "$.routes[0].host: a text is needed, not nothing"],
    ["routes.0.match.path", "/", "$.routes[0].match.path: an object is needed, not a text"],
    [
      "routes.0.match.path.type",
      "Glob",
      '$.routes[0].match.path.type: "Glob" is none of "Exact", "Prefix", "StringPrefix", "Regex"',
    ],
    ["routes.0.match.path.typ", "Exact", "$.routes[0].match.path.typ: the field is not known"],
    ["routes.0.filters", [], "$.routes[0].filters: the field is not known"],
    ["routes.0.action.timeout", {}, "$.routes[0].action.timeout: the field is not known"],
    ["routes.0.match.method", "GET it", '$.routes[0].match.method: "GET it" is no method'],
    [
      "routes.0.match.headers",
      [{ name: "a b", type: "Exact", value: "" }],
      '$.routes[0].match.headers[0].name: "a b" is no name of a header',
    ],
    ["routes.0.match.query", [], "$.routes[0].match.query: it is empty"],
    ["routes.0.listeners", ["tcp"], '$.routes[0].listeners[0]: "tcp" is the id of no listener'],
    ["routes.0.filterSet", "f", '$.routes[0].filterSet: "f" is the id of no filter set'],
    ["routes.0.policy", "p", '$.routes[0].policy: "p" is the id of no policy'],
    [
      "routes.0.action.backends.0.weight",
      -1,
      "$.routes[0].action.backends[0].weight: -1 is not a whole number from 0 to 1000000",
    ],
    ["routes.0.action.backends", [], "$.routes[0].action.backends: it is empty"],
    [
      "filterSets",
      [{ id: "f", filters: [{ kind: "mirror" }] }],
      '$.filterSets[0].filters[0].kind: "mirror" is none of "request-headers", "response-headers", ' +
      '"access", "redirect", "request-redirect", "www-redirect", "request-host", "rewrite", "nginx-forwarded-headers", "hsts", "blocked-clients", "deadline"',
    ],
    [
      "filterSets",
      [{
        id: "f",
        filters: [
          { kind: "rewrite", path: [] },
          { kind: "rewrite", path: [{ kind: "text", text: "/a\r\nx: y" }] },
          { kind: "rewrite", path: [{ kind: "group", group: 10 }] },
          { kind: "rewrite", path: [{ kind: "text", text: "/" }], pattern: 1 },
        ],
      }],
      "$.filterSets[0].filters[0].path: it is empty",
      '$.filterSets[0].filters[1].path[0].text: "/a\\r\\nx: y" is no part of a target',
      "$.filterSets[0].filters[2].path[0].group: 10 is not a whole number from 1 to 9",
      "$.filterSets[0].filters[3].pattern: a text is needed, not a number",
    ],
    [
      "filterSets",
      [{
        id: "f",
        filters: ["//evil.test/", "https:///a", "a", "/a\r\nx: y", "/\\a"].map((location) => {
          return { kind: "redirect", status: 302, location };
        }),
      }],
      '$.filterSets[0].filters[0].location: "//evil.test/" is no location of a redirect',
      '$.filterSets[0].filters[1].location: "https:///a" is no location of a redirect',
      '$.filterSets[0].filters[2].location: "a" is no location of a redirect',
      '$.filterSets[0].filters[3].location: "/a\\r\\nx: y" is no location of a redirect',
      '$.filterSets[0].filters[4].location: "/\\\\a" is no location of a redirect',
    ],
    [
      "filterSets",
      [{
        id: "f",
        filters: [
          { kind: "redirect", status: 304, location: "/a" },
          { kind: "request-host", parts: [] },
          { kind: "request-host", parts: [{ kind: "text", text: "a\r\nx: y" }] },
        ],
      }],
      "$.filterSets[0].filters[0].status: 304 is none of 301, 302, 303, 307, 308",
      "$.filterSets[0].filters[1].parts: it is empty",
      '$.filterSets[0].filters[2].parts[0].text: "a\\r\\nx: y" is no part of a host',
    ],
    [
      "filterSets",
      [{ id: "f", filters: [{ kind: "request-headers", remove: ["Host", "a b"] }] }],
      '$.filterSets[0].filters[0].remove[0]: "Host" is a header that the proxy writes itself',
      '$.filterSets[0].filters[0].remove[1]: "a b" is no name of a header',
    ],
    [
      "filterSets",
      [{
        id: "f",
        filters: [{
          kind: "response-headers",
          set: [
            { name: "transfer-encoding", value: "gzip" },
            { name: "Content_Length", value: "1" },
          ],
          add: [{ name: "x", value: "a\r\nx-b: c" }, { name: "x", value: " " }],
        }],
      }],
      '$.filterSets[0].filters[0].set[0].name: "transfer-encoding" is a header that the proxy ' +
      "writes itself",
      '$.filterSets[0].filters[0].set[1].name: "Content_Length" is a header that the proxy writes itself',
      '$.filterSets[0].filters[0].add[0].value: "a\\r\\nx-b: c" is no value of a header',
      '$.filterSets[0].filters[0].add[1].value: " " is no value of a header',
    ],
    [
      "filterSets",
      [{
        id: "f",
        filters: [{
          kind: "access",
          external: {
            scheme: "http",
            authority: [{ kind: "text", text: "a.test" }],
            target: [{ kind: "text", text: "/" }],
            namespace: "n",
            responseHeaders: ["x_user", "CDN_Loop", "cdn.loop"],
          },
        }],
      }],
      ...["CDN_Loop", "cdn.loop"].map((name, i) =>
        `$.filterSets[0].filters[0].external.responseHeaders[${i + 1}]: ` +
        `"${name}" is a header that the proxy writes itself`
      ),
    ],
    [
      "policies",
      [{ id: "p", timeouts: { connect: 0 } }],
      "$.policies[0].timeouts.connect: 0 is not a whole number from 1 to 1000000000",
    ],
    ["policies", [{ id: "p", retries: 1 }], "$.policies[0].retries: the field is not known"],
    [
      "policies",
      [{ id: "p", retry: { on: ["error", "501"] } }],
      '$.policies[0].retry.on[1]: "501" is none of "error", "timeout", "malformed", ' +
      '"non-idempotent", "403", "404", "429", "500", "502", "503", "504"',
    ],
    [
      "hostSettings",
      [{ id: "a..test", httpsRedirect: "no" }],
      '$.hostSettings[0].id: the host "a..test" has an empty label',
      '$.hostSettings[0].httpsRedirect: "no" is neither true nor false',
    ],
    [
      "hostSettings",
      [{ id: "a.test" }, { id: "a.test" }],
      '$.hostSettings[1].id: another has the id "a.test"',
    ],
    ["hostSettings", [{ id: "a.test", hsts: 1 }], "$.hostSettings[0].hsts: the field is not known"],
    ["routes.0.httpsRedirect", 1, "$.routes[0].httpsRedirect: 1 is neither true nor false"],
    [
      "listeners",
      [{ id: "x", port: 0 }],
      "$.listeners[0].port: 0 is no port",
      "$.listeners[0].socket: a text is needed, not nothing",
      '$.listeners[0].protocol: nothing is none of "HTTP", "HTTPS", "TLS"',
      '$.listeners[0].wildcards: nothing is none of "one-label", "suffix"',
      "$.listeners[0].fallThrough: nothing is neither true nor false",
    ],
    [
      "listeners",
      [{
        id: "a/gw/web",
        port: 443,
        socket: "10000",
        protocol: "HTTPS",
        wildcards: "suffix",
        fallThrough: true,
        certificates: ["a/tls"],
      }],
      '$.listeners[0].certificates[0]: "a/tls" is the id of no certificate',
    ],
    [
      "routes.1.action.closed",
      false,
      "$.routes[1].action.closed: false is not true",
    ],
    [
      "routes.0.match.path.value",
      "/a%zz",
      "$.routes[0].match.path.value: the path has a broken escape at byte 2",
    ],
    [
      "routes.0.match.path.value",
      "",
      "$.routes[0].match.path.value: the path does not begin with a slash",
    ],
    [
      "routes.0.action",
      null,
      "$.routes[0].action: an object is needed, not null",
    ],
    [
      "routes.0.action.kind",
      "redirect",
      '$.routes[0].action.kind: "redirect" is none of "forward", "reply"',
    ],
    [
      "routes.0.action.backends.0.upstream",
      "gone",
      '$.routes[0].action.backends[0].upstream: "gone" is the id of no upstream',
    ],
    [
      "defaultAction.backends.0.upstream",
      "__proto__",
      '$.defaultAction.backends[0].upstream: "__proto__" is the id of no upstream',
    ],
    [
      "routes.1.action.status",
      200,
      "$.routes[1].action.status: 200 is none of 404, 500, 503",
    ],
    [
      "routes.1.action.reason",
      undefined,
      "$.routes[1].action.reason: a text is needed, not nothing",
    ],
    ["routes.0.origin", "x", "$.routes[0].origin: an object is needed, not a text"],
    [
      "routes.0.origin.field",
      undefined,
      "$.routes[0].origin.field: a text is needed, not nothing",
    ],
    [
      "upstreams.1.id",
      "default/ext:http",
      '$.upstreams[1].id: another has the id "default/ext:http"',
      '$.routes[0].action.backends[0].upstream: "default/web:80" is the id of no upstream',
    ],
    [
      "upstreams.1.protocol",
      "ftp",
      '$.upstreams[1].protocol: "ftp" is none of "http", "https", "h2c", "h2"',
    ],
    [
      "upstreams.1.addresses",
      [],
      "$.upstreams[1].addresses: an object is needed, not an array",
    ],
    [
      "upstreams.1.addresses.endpoints.0.address",
      "web",
      '$.upstreams[1].addresses.endpoints[0].address: "web" is no IP address',
    ],
    [
      "upstreams.1.addresses.endpoints.1.address",
      "fe80::1%eth0",
      '$.upstreams[1].addresses.endpoints[1].address: "fe80::1%eth0" is no IP address',
    ],
    [
      "upstreams.1.addresses.endpoints.0.port",
      65536,
      "$.upstreams[1].addresses.endpoints[0].port: 65536 is no port",
    ],
    [
      "upstreams.1.addresses.endpoints.0.port",
      "80",
      '$.upstreams[1].addresses.endpoints[0].port: "80" is no port',
    ],
    [
      "upstreams.0.addresses.name",
      "http://x",
      '$.upstreams[0].addresses.name: "http://x" is no name that can be resolved',
    ],
    ["upstreams.0.addresses.port", 0.5, "$.upstreams[0].addresses.port: 0.5 is no port"],
    ["upstreams.0.tls", true, "$.upstreams[0].tls: an object is needed, not a boolean"],
    [
      "upstreams.0.tls.serverName",
      "*.a.test",
      '$.upstreams[0].tls.serverName: "*.a.test" is not a valid name in a certificate',
    ],
    ["upstreams.0.tls.ca.kind", "file", '$.upstreams[0].tls.ca.kind: "file" is not "pem"'],
    ["upstreams.0.tls.ca.pem", "", "$.upstreams[0].tls.ca.pem: it is empty"],
    ["upstreams.0.tls.clientCertificate", "", "$.upstreams[0].tls.clientCertificate: it is empty"],
    ["upstreams.0.tls.verify", true, "$.upstreams[0].tls.verify: true is not false"],
    ["denied", "10.0.0.1", "$.denied: an array is needed, not a text"],
    ["denied", ["10.0.0.1", 7], "$.denied[1]: a text is needed, not a number"],
    ["denied", ["10.0.0.0/33"], '$.denied[0]: "10.0.0.0/33" is no address or network'],
    ["denied", ["10.0.0.1,10.0.0.2"], '$.denied[0]: "10.0.0.1,10.0.0.2" is no address or network'],
    ["denied", [" "], '$.denied[0]: " " is no address or network'],
    ["denied", ["10.0.0.1 "], '$.denied[0]: "10.0.0.1 " is no address or network'],
    ["trustedProxies", [" ::1"], '$.trustedProxies[0]: " ::1" is no address or network'],
    ["trustedProxies", "10.0.0.0/8", "$.trustedProxies: an array is needed, not a text"],
    ["trustedProxies", ["10.0.0.0/8", 7], "$.trustedProxies[1]: a text is needed, not a number"],
    [
      "trustedProxies",
      ["10.0.0.0/33"],
      '$.trustedProxies[0]: "10.0.0.0/33" is no address or network',
    ],
    ["blockedClients.networks", [], "$.blockedClients.networks: it is empty"],
    [
      "blockedClients.networks.0",
      "x",
      '$.blockedClients.networks[0]: "x" is no address or network',
    ],
    [
      "blockedClients.userAgents.0.type",
      "~",
      '$.blockedClients.userAgents[0].type: "~" is none of "Exact", "Regex"',
    ],
    [
      "blockedClients.referers.0.value",
      7,
      "$.blockedClients.referers[0].value: a text is needed, not a number",
    ],
    ["blockedClients.cookies", [], "$.blockedClients.cookies: the field is not known"],
    ["loopMark", 7, "$.loopMark: a text is needed, not a number"],
    ["loopMark", "", '$.loopMark: "" is no mark for CDN-Loop'],
    ["loopMark", "a, b", '$.loopMark: "a, b" is no mark for CDN-Loop'],
    ["loopMark", "a\r\nX: y", '$.loopMark: "a\\r\\nX: y" is no mark for CDN-Loop'],
    [
      "certificates.1.id",
      "0abc",
      '$.certificates[1].id: another has the id "0abc"',
      '$.defaultCertificate: "/keys/tls.crt" is the id of no certificate',
    ],
    [
      "certificates.0.hosts.1",
      "*",
      "$.certificates[0].hosts[1]: a certificate is not for any host",
    ],
    [
      "certificates.0.chain.kind",
      "secret",
      '$.certificates[0].chain.kind: "secret" is none of "pem", "file"',
    ],
    ["certificates.1.key.path", "", "$.certificates[1].key.path: it is empty"],
    [
      "defaultCertificate",
      1,
      "$.defaultCertificate: a text is needed, not a number",
    ],
    [
      "version.seen.Ingress",
      "1a",
      '$.version.seen["Ingress"]: "1a" is no resource version',
    ],
    ["version.epoch", "", "$.version.epoch: it is empty"],
    [
      "format",
      3,
      "$.format: format 3 is newer than 2, which this proxy reads",
    ],
    ["format", "1", "$: it is neither a snapshot nor a proxy.json"],
    ["rules", [], "$: it is neither a snapshot nor a proxy.json"],
  ];
  for (const [place, value, ...problems] of table) {
    await t.step(problems[0], () => {
      const result = parse(changed({ [place]: value }));
      assert.equal(result.snapshot, null);
      assert.deepEqual(
        result.problems.map(({ path, message }) => `${path}: ${message}`),
        problems,
      );
      for (const problem of result.problems) {
        assert.equal(problem.severity, "error");
        assert.notEqual(problem.remedy, "");
      }
    });
  }
});

Deno.test("a text that is not a JSON object is rejected with line and column", () => {
  const early = "the text ends too early";
  const table: [text: string, problem: string][] = [
    ["", "the file is empty"],
    [" \n\t", "the file is empty"],
    ["[]", "an object is needed, not an array"],
    ["null", "an object is needed, not null"],
    ["{}", "it is neither a snapshot nor a proxy.json"],
    ['{\n  "format": 2,\n  "routes": [', `the file is not JSON: line 3, column 14: ${early}`],
    [
      '{"format": 2,}',
      "the file is not JSON: line 1, column 14: a field's name in double quotes " +
      "is expected",
    ],
    ["rules: []", "the file is not JSON: line 1, column 1: a value is expected"],
  ];
  for (const [text, problem] of table) {
    assert.deepEqual(lines(text), [`error $: ${problem}`], text);
    assert.equal(parseSnapshot(text).snapshot, null);
  }
  const half = JSON.stringify(WHOLE).slice(0, 500);
  assert.match(parseSnapshot(half).problems[0].remedy, /^write the rest of it/);
});

Deno.test("a byte order mark before the text is ignored", () => {
  assert.deepEqual(parseSnapshot("\ufeff" + JSON.stringify(WHOLE)).problems, []);
});

for (const [field, value] of [["balance", "by-the-moon"], ["grpcWeb", "true"]] as const) {
  Deno.test(`an unknown value of ${field} is reported, and has no effect`, () => {
    const { snapshot, problems } = parse(changed({ [`upstreams.1.${field}`]: value }));
    assert.ok(snapshot !== null);
    assert.ok(!(field in snapshot.upstreams.at(-1)!));
    assert.deepEqual(problems.map(({ path, severity }) => [path, severity]), [
      [`$.upstreams[1].${field}`, "warning"],
    ]);
  });
}

Deno.test("unknown fields are reported once for each kind, and have no effect", () => {
  const { snapshot, problems } = parse(changed({
    "later": true,
    "routes.0.origin.line": 3,
    "routes.1.origin.line": 3,
    "upstreams.1.addresses.endpoints.0.we ight": 1,
  }));
  assert.deepEqual(snapshot, parsed(WHOLE));
  assert.deepEqual(problems.map(({ path, message }) => `${path}: ${message}`), [
    "$.later: the field is not known and has no effect",
    '$.upstreams[1].addresses.endpoints[0]["we ight"]: the field is not known and has no effect',
    "$.routes[0].origin.line: the field is not known and has no effect, here and in 1 more place",
  ]);
  assert.ok(problems.every(({ severity }) => severity === "warning"));
});

Deno.test("a repeated endpoint counts once", () => {
  const repeated = { address: "10.0.0.1", port: 8080 };
  const { snapshot, problems } = parse(changed({
    "upstreams.1.addresses.endpoints.2": repeated,
  }));
  assert.deepEqual(snapshot, parsed(WHOLE));
  assert.deepEqual(problems.map(({ path, message }) => `${path}: ${message}`), [
    "$.upstreams[1].addresses.endpoints[2]: it repeats another and has no effect",
  ]);
});

Deno.test("ids and fields named like JavaScript's own are ordinary names", () => {
  const text = JSON.stringify(WHOLE)
    .replace('"Ingress":"12"', '"__proto__":"12"')
    .replace('"defaultAction"', '"__proto__":{"host":"x"},"constructor":1,"defaultAction"');
  const { snapshot, problems } = parseSnapshot(text);
  assert.deepEqual(Object.entries(snapshot!.version.seen), [
    ["__proto__", "12"],
    ["Secret", "345678901234567890"],
  ]);
  assert.deepEqual(problems.map(({ path }) => path), ["$.__proto__", "$.constructor"]);
  const written = serialiseSnapshot(snapshot!, { revealKeys: true });
  assert.match(written, /"seen":\{"Secret":"345678901234567890","__proto__":"12"\}/);
});

Deno.test("a path of 1 MiB invalidates only its own route among 10,000", () => {
  const routes = Array.from({ length: 10_000 }, (_, i) => ({
    ...FIRST_ROUTE,
    id: `${i}`,
    match: {
      path: { type: "Prefix", value: i === 5000 ? `/${"x".repeat(1024 * 1024)}` : `/service/${i}` },
    },
  }));
  const { snapshot, problems } = parse(changed({ routes }));
  assert.equal(snapshot?.routes.length, 9999);
  assert.deepEqual(problems, [{
    path: "$.routes[5000].match.path.value",
    message: "the path has 1048577 characters, more than 32768; its route is left out",
    remedy: "shorten it",
    severity: "error",
  }]);
});

Deno.test("a host whose only path is too long responds with 404, and no broader host matches it", () => {
  const long = { path: { type: "Prefix", value: `/${"x".repeat(1024 * 1024)}` } };
  const routes = [
    { ...FIRST_ROUTE, id: "1", host: "only.example.com", match: long },
    { ...FIRST_ROUTE, id: "2", host: "only.example.com", match: long },
    { ...FIRST_ROUTE, id: "3", host: "some.example.com", match: long },
    { ...FIRST_ROUTE, id: "4", host: "some.example.com" },
    { ...FIRST_ROUTE, id: "5", host: "*.example.com" },
  ];
  const { snapshot } = parse(changed({ routes }));
  assert.deepEqual(
    snapshot?.routes.map(({ id, host, match: { path }, action }) =>
      `${id} ${host} ${path.value} ${action.kind === "reply" ? action.status : upstreamsOf(action)}`
    ),
    [
      "1 only.example.com / 404",
      `4 some.example.com ${FIRST_ROUTE.match.path.value} ${
        FIRST_ROUTE.action.backends[0].upstream
      }`,
      `5 *.example.com ${FIRST_ROUTE.match.path.value} ${FIRST_ROUTE.action.backends[0].upstream}`,
    ],
  );
});

Deno.test("a file corrupted anywhere is read or rejected, and never throws", () => {
  const text = JSON.stringify(WHOLE);
  const insertions = ['"', "{", "]", ",", "0", "-", "null", "\\", "é", "\u0000"];
  let refused = 0;
  for (let at = 0; at < text.length; at += 3) {
    for (const insertion of insertions) {
      const { snapshot, problems } = parseSnapshot(text.slice(0, at) + insertion + text.slice(at));
      if (snapshot !== null) continue;
      refused++;
      assert.ok(problems.some(({ severity }) => severity === "error"));
      assert.ok(problems.every(({ path }) => path.startsWith("$")));
    }
  }
  assert.ok(refused > 1000);
});
