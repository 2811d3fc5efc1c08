import assert from "node:assert/strict";
import { NGINX_PREFIX } from "../../../controller/translate/annotations/nginx/table.ts";
import { lintTexts } from "../../../tests/golden/lint_case.ts";
import { secret } from "../../../tests/support/rich_cluster.ts";

interface Entry {
  readonly hosts?: readonly string[];
  readonly secretName?: string;
}

interface IngressInput {
  readonly name?: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly hosts?: readonly string[];
  readonly path?: string;
  readonly tls?: readonly Entry[];
}

function ingress(
  { name = "web", namespace = "default", annotations = {}, hosts = [APP], path = "/", tls }:
    IngressInput,
): unknown {
  const service = { name: "web", port: { number: 80 } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      ...{ name, namespace },
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [NGINX_PREFIX + key, value]),
      ),
    },
    spec: {
      ingressClassName: "nginx",
      ...(tls === undefined ? {} : { tls }),
      rules: hosts.map((host) => ({
        host,
        http: { paths: [{ path, pathType: "Prefix", backend: { service } }] },
      })),
    },
  };
}

const APP = "app.example.com";
const OTHER = "other.test";
const ELSEWHERE = "https://elsewhere.test/";

/** `app` names app.example.com, `two` a. and b.example.com, `wildcard` *.example.com. */
const SECRETS = ["app", "two", "wildcard", "half"].map((name) => ({
  ...{ apiVersion: "v1", kind: "Secret" },
  ...secret(name, "default", name === "half" ? "app" : name),
  ...(name === "half" ? { data: { "tls.crt": btoa("nothing") } } : {}),
}));

/** What is said of TLS and redirects: `name verdict rule field`, sorted. */
function said(
  inputs: readonly IngressInput[],
  { config, hostOwnership = "namespace" }: {
    readonly config?: Readonly<Record<string, string>>;
    readonly hostOwnership?: "namespace" | "shared";
  } = {},
): string[] {
  const configMap = {
    ...{ apiVersion: "v1", kind: "ConfigMap" },
    ...{ metadata: { name: "conf", namespace: "edge" }, data: config },
  };
  const objects = [
    ...inputs.map(ingress),
    ...SECRETS,
    ...(config === undefined ? [] : [configMap]),
  ];
  const { ingresses } = lintTexts(
    { "a.yaml": objects.map((object) => JSON.stringify(object)).join("\n---\n") },
    { hostOwnership },
    config === undefined ? null : "edge/conf",
  );
  return ingresses.flatMap(({ name, findings }) =>
    findings.filter(({ rule }) => rule.startsWith("tls/")).map((finding) => {
      assert.equal(finding.at?.file, "a.yaml");
      assert.ok(finding.difference !== null && finding.remedy !== null && finding.effect !== "");
      return `${name.split("/")[1]} ${finding.verdict} ${finding.rule} ${finding.field}`;
    })
  ).sort();
}

const REDIRECTS = { "ssl-redirect": "true" };
const STAYS = { "ssl-redirect": "false" };
const FORCED = { "force-ssl-redirect": "true" };

const CASES: readonly (readonly [what: string, inputs: readonly IngressInput[], string[]])[] = [
  ["a host that its certificate names is redirected in both", [
    { tls: [{ hosts: [APP], secretName: "app" }] },
  ], []],
  ["a host that only the rules have", [
    { hosts: [APP, OTHER], tls: [{ hosts: [APP], secretName: "app" }] },
  ], ["web OPENS tls/plain-host spec.rules[1].host"]],
  ["such a host, with a Secret that is in no file", [
    { hosts: [APP, OTHER], tls: [{ hosts: [APP], secretName: "elsewhere" }] },
  ], ["web OPENS tls/plain-host spec.rules[1].host"]],
  ["such a host that another Ingress has a certificate for", [
    { hosts: [APP, "a.example.com"], tls: [{ hosts: [APP], secretName: "app" }] },
    { name: "b", hosts: ["a.example.com"], path: "/b", tls: [{ secretName: "two" }] },
  ], []],
  ["an entry without hosts whose certificate does not name the host", [
    { hosts: [OTHER], tls: [{ secretName: "app" }] },
  ], ["web OPENS tls/plain-host spec.tls[0]"]],
  ["an entry without hosts whose certificate names the host", [
    { tls: [{ secretName: "wildcard" }] },
  ], []],
  ["an entry without hosts whose Secret is in no file", [
    { hosts: [APP, OTHER], tls: [{ secretName: "elsewhere" }] },
  ], []],
  ["a certificate that does not name the host of its entry", [
    { hosts: [OTHER], tls: [{ hosts: [OTHER], secretName: "app" }] },
  ], ["web OPENS tls/plain-host spec.tls[0]"]],
  ["a Secret that cannot be used", [
    { tls: [{ hosts: [APP], secretName: "half" }] },
  ], ["web OPENS tls/plain-host spec.tls[0]"]],
  ["a Secret that is in no file", [{ tls: [{ hosts: [APP], secretName: "elsewhere" }] }], []],
  ["a Secret of a wildcard that is in no file", [
    { tls: [{ hosts: ["*.example.com"], secretName: "elsewhere" }] },
  ], []],
  ["Ingresses without TLS, of a host that no certificate names", [
    { name: "a", hosts: [OTHER], tls: [{ hosts: [OTHER], secretName: "app" }] },
    { name: "b", hosts: [OTHER], path: "/b" },
    { name: "c", hosts: [OTHER], path: "/c", annotations: REDIRECTS },
    { name: "d", hosts: [OTHER], path: "/d", annotations: STAYS },
    { name: "e", hosts: [OTHER], path: "/e", annotations: FORCED },
  ], [
    "a OPENS tls/plain-host spec.tls[0]",
    "b OPENS tls/plain-host spec.rules[0].host",
    "c OPENS tls/plain-host spec.rules[0].host",
  ]],
  ["an Ingress without TLS, below a wildcard that no certificate names", [
    { name: "a", hosts: ["*.other.test"], tls: [{ secretName: "app" }] },
    { name: "b", hosts: ["b.other.test"] },
    { name: "c", hosts: ["c.b.other.test"] },
  ], [
    "a OPENS tls/plain-host spec.tls[0]",
    "b OPENS tls/plain-host spec.rules[0].host",
  ]],
  ["an Ingress without TLS, of a host that a certificate names", [
    { name: "a", tls: [{ hosts: [APP], secretName: "app" }] },
    { name: "b", path: "/b" },
  ], []],
  ["a challenge of a certificate is redirected in neither", [
    { name: "a", hosts: [OTHER], tls: [{ hosts: [OTHER], secretName: "app" }] },
    { name: "b", hosts: [OTHER], path: "/.well-known/acme-challenge/token" },
  ], ["a OPENS tls/plain-host spec.tls[0]"]],
  ["a host where all requests are redirected elsewhere first", [
    {
      hosts: [OTHER],
      tls: [{ secretName: "app" }],
      annotations: { "permanent-redirect": ELSEWHERE },
    },
  ], []],
  ["a canary gives its host no certificate", [
    { name: "a", hosts: [OTHER] },
    { name: "b", hosts: [OTHER], tls: [{ secretName: "app" }], annotations: { canary: "true" } },
  ], []],
  ["a rule without a host is redirected in neither", [
    { hosts: [""], tls: [{ secretName: "app" }] },
  ], []],
  ["an entry without a Secret", [
    { tls: [{ hosts: [APP] }] },
  ], ["web OPENS tls/no-secret spec.tls[0]"]],
  ["an entry with neither", [{ tls: [{}] }], ["web OPENS tls/no-secret spec.tls[0]"]],
  ["an entry without a Secret beside one that names the host", [
    { hosts: [APP, OTHER], tls: [{ hosts: [APP], secretName: "app" }, { hosts: [OTHER] }] },
  ], ["web OPENS tls/no-secret spec.tls[1]"]],
  ["an entry without a Secret, of a host that another Ingress has a certificate for", [
    { name: "a", tls: [{ hosts: [APP], secretName: "app" }] },
    { name: "b", path: "/b", tls: [{ hosts: [APP] }] },
  ], ["b DIFFERS tls/no-secret spec.tls[0]"]],
  ["an entry without a Secret that lists no host of the rules", [
    { hosts: [OTHER], tls: [{ hosts: [APP] }] },
  ], ["web DIFFERS tls/no-secret spec.tls[0]", "web OPENS tls/plain-host spec.rules[0].host"]],
];

for (const [what, inputs, expected] of CASES) {
  Deno.test(`plain HTTP: ${what}`, () => assert.deepEqual(said(inputs), expected));
}

const ALL_PLAIN: readonly IngressInput[] = [
  { name: "a", tls: [{ hosts: [APP] }] },
  { name: "b", hosts: [APP, OTHER], path: "/b", tls: [{ hosts: [OTHER], secretName: "app" }] },
];

for (
  const [text, annotations, config] of [
    ["ssl-redirect", REDIRECTS, undefined],
    ["no ssl-redirect", STAYS, undefined],
    ["force-ssl-redirect", FORCED, undefined],
    ["force-ssl-redirect beside no ssl-redirect", { ...FORCED, ...STAYS }, undefined],
    ["ssl-redirect of the ConfigMap", {}, REDIRECTS],
    ["no ssl-redirect of the ConfigMap", {}, STAYS],
    ["force-ssl-redirect of the ConfigMap", {}, FORCED],
    ["ssl-redirect beside none of the ConfigMap", REDIRECTS, STAYS],
  ] as const
) {
  Deno.test(`plain HTTP: with ${text}, hosts with TLS entries are as in ingress-nginx`, () => {
    const inputs = ALL_PLAIN.map((input) => ({ ...input, annotations }));
    assert.deepEqual(said(inputs, { config }), ["a DIFFERS tls/no-secret spec.tls[0]"]);
  });
}

Deno.test("plain HTTP: the default of ingress-nginx counts where the ConfigMap says nothing of it", () => {
  assert.deepEqual(said(ALL_PLAIN, { config: { "proxy-read-timeout": "10" } }), [
    "a OPENS tls/no-secret spec.tls[0]",
    "b OPENS tls/plain-host spec.rules[0].host",
    "b OPENS tls/plain-host spec.tls[0]",
  ]);
});

Deno.test("plain HTTP: TLS of another namespace redirects the host in ingress-nginx alone", () => {
  const inputs = [
    { name: "a" },
    { name: "b", namespace: "blog", path: "/b", tls: [{ hosts: [APP], secretName: "elsewhere" }] },
  ];
  assert.deepEqual(said(inputs), ["a OPENS tls/plain-host spec.rules[0].host"]);
  assert.deepEqual(said(inputs, { hostOwnership: "shared" }), []);
});

Deno.test("plain HTTP: TLS of another namespace's wildcard redirects the host in ingress-nginx alone", () => {
  const tls = [{ hosts: ["*.other.test"], secretName: "elsewhere" }];
  const inputs = [
    { name: "a", hosts: ["a.other.test"] },
    { name: "b", namespace: "blog", hosts: ["*.other.test"], tls },
  ];
  assert.deepEqual(said(inputs), ["a OPENS tls/plain-host spec.rules[0].host"]);
  assert.deepEqual(said(inputs, { hostOwnership: "shared" }), []);
});
