import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";
import { reduceSecret } from "../../kube/reduce.ts";
import type { KubeSecret, Resources } from "../../kube/resources.ts";
import type { KubeObject } from "../../kube/types.ts";
import { NGINX_PREFIX } from "../annotations/nginx/table.ts";
import { UPSTREAM_TLS } from "../annotations/own_annotation_names.ts";
import { translate } from "../translator.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");

function file(...names: readonly string[]): string {
  const folder = new URL("../../../tests/golden/certificates/", import.meta.url);
  return names.map((name) => Deno.readTextFileSync(new URL(name, folder))).join("");
}

/** The values of each Secret, and who reads them. */
const SECRETS = {
  served: { "tls.crt": file("app.crt", "intermediate.crt"), "tls.key": file("app.key") },
  users: { auth: "käthe:{PLAIN}é\n" },
  user: { käthe: "{PLAIN}é" },
  pair: {
    "ca.crt": file("intermediate.crt"),
    "tls.crt": file("app.crt", "intermediate.crt"),
    "tls.key": file("app.key"),
  },
  authority: { "ca.crt": file("intermediate.crt") },
};

const ANNOTATIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "auth-file": { "auth-type": "basic", "auth-secret": "users" },
  "auth-map": { "auth-type": "basic", "auth-secret": "user", "auth-secret-type": "auth-map" },
  "client-certificates": {
    "auth-tls-secret": "default/authority",
    "auth-tls-verify-client": "off",
  },
  backend: { "backend-protocol": "HTTPS", "proxy-ssl-secret": "default/pair" },
  authority: { "backend-protocol": "HTTPS", "proxy-ssl-secret": "default/authority" },
  own: {},
};

/** @param write As `data` or `stringData`. */
function resources(write: (values: Readonly<Record<string, string>>) => object): Resources {
  const service = { name: "web", port: { number: 80 } };
  return {
    ingresses: Object.entries(ANNOTATIONS).map(([name, annotations]) => ({
      metadata: {
        ...{ namespace: "default", name },
        annotations: Object.fromEntries(
          Object.entries(annotations).map(([key, value]) => [NGINX_PREFIX + key, value]),
        ),
      },
      spec: {
        ingressClassName: "pingress",
        tls: [{ hosts: [`${name}.example.com`], secretName: "served" }],
        rules: [{
          host: `${name}.example.com`,
          http: {
            paths: [{
              path: "/",
              pathType: "Prefix",
              backend: { service: { ...service, name: name === "own" ? "own" : "web" } },
            }],
          },
        }],
      },
    })),
    services: [
      { metadata: { namespace: "default", name: "web" }, spec: { ports: [{ port: 80 }] } },
      {
        metadata: {
          ...{ namespace: "default", name: "own" },
          annotations: {
            [UPSTREAM_TLS.ca]: "authority",
            [UPSTREAM_TLS.clientCertificate]: "served",
          },
        },
        spec: { ports: [{ port: 80, appProtocol: "https" }] },
      },
    ],
    secrets: Object.entries(SECRETS).map(([name, values]) => ({
      metadata: { namespace: "default", name },
      type: name === "served" ? "kubernetes.io/tls" : "Opaque",
      ...write(values),
    })),
    ingressClasses: [],
    endpointSlices: [],
  } as unknown as Resources;
}

const OPTIONS = { ...TRANSLATE_OPTIONS, nginxClasses: ["pingress"] };

Deno.test("Secrets of a folder with stringData are read as those with data", () => {
  const base64 = (text: string) => new TextEncoder().encode(text).toBase64();
  const [data, text] = [
    resources((values) => ({
      data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)])),
    })),
    resources((stringData) => ({ stringData })),
  ].map((given) => translate(given, null, OPTIONS, () => NOW));
  assert.deepEqual(text.problems, data.problems);
  const [ofText, ofData] = [text, data].map(({ snapshot }) =>
    serialiseSnapshot(snapshot, { revealKeys: true })
  );
  assert.equal(ofText, ofData);
  // Each of them can be used.
  const errors = data.problems.filter(({ severity }) => severity === "error");
  assert.deepEqual([...new Set(errors.map(({ reason }) => reason))], ["EndpointsMissing"]);
  const { upstreams, credentials, certificates } = data.snapshot;
  assert.equal(upstreams.filter(({ tls }) => tls?.ca !== undefined).length, 3);
  assert.deepEqual(credentials?.map(({ users }) => users.kind), ["secret", "secret"]);
  assert.equal(certificates.length, 2);
});

/** A Secret of 1 MB, and what its users are told. */
const OVERSIZE: readonly (readonly [secret: string, value: string, message: RegExp])[] = [
  ["served", "tls.crt", /tls\.crt is too large: it has more than 204800 bytes, so .* stays in use/],
  ["served", "tls.key", /tls\.key is too large: it has more than 32768 bytes, so .* stays in use/],
  ["users", "auth", /Secret users cannot be used: auth is too large: .* 262144 bytes, .* get 503/],
  ["user", "junk", /Secret user cannot be used: its values are too large: .* 262144 bytes/],
  ["authority", "ca.crt", /Secret "?authority"? cannot be used: ca\.crt is too large: .* 524288 /],
  ["pair", "tls.crt", /Secret pair cannot be used: tls\.crt is too large: .*, so .* stay in use/],
];

for (const [secret, value, message] of OVERSIZE) {
  Deno.test(`Secret ${secret} whose value ${value} has 1 MB is a problem that says so`, () => {
    const stored = (given: Resources): Resources => ({
      ...given,
      secrets: given.secrets.map((each) =>
        reduceSecret(each as KubeSecret & KubeObject) as KubeSecret
      ),
    });
    const write = (values: Readonly<Record<string, string>>) => ({
      data: Object.fromEntries(
        Object.entries(values).map((
          [key, text],
        ) => [key, new TextEncoder().encode(text).toBase64()]),
      ),
    });
    const before = translate(stored(resources(write)), null, OPTIONS, () => NOW);
    const given = resources((values) =>
      values === SECRETS[secret as keyof typeof SECRETS]
        ? write({ ...values, [value]: "x".repeat(1_000_000) })
        : write(values)
    );
    const after = translate(stored(given), before.snapshot, OPTIONS, () => NOW);
    assert.match(after.problems.map((each) => each.message).join("\n"), message);
    // What was published stays.
    assert.equal(after.snapshot.certificates.length, before.snapshot.certificates.length);
    assert.equal(after.snapshot.routes.length, before.snapshot.routes.length);
  });
}

const BOUND_PROBLEMS = {
  secrets: /^Secret \S+ cannot be used: the namespace references more than 7 Secrets, so /,
  secretBytes:
    /^Secret \S+ cannot be used: the Secrets that the namespace references have more than 7 bytes/,
};

const BOUND_FLAGS = {
  secrets: /or raise --max-namespace-certificates of the controller$/,
  secretBytes: /or raise --max-namespace-bytes of the controller$/,
};

for (const bound of ["secrets", "secretBytes"] as const) {
  Deno.test(`Secrets beyond the bound ${bound} are problems of who names them, with the flag`, () => {
    const data = (values: Readonly<Record<string, string>>) => ({ stringData: values });
    const before = translate(resources(data), null, OPTIONS, () => NOW);
    const given = resources(() => ({ excess: { bound, limit: 7 } }));
    const secrets = given.secrets.map((each) => ({ ...each, type: undefined }));
    const { problems, snapshot } = translate(
      { ...given, secrets },
      before.snapshot,
      OPTIONS,
      () => NOW,
    );
    const found = problems.filter(({ reason }) => /Secret|Credentials|Ca|Certificate/.test(reason));
    assert.ok(found.every(({ object }) => object?.kind !== "Secret"));
    const reasons = new Set(found.map(({ reason }) => reason));
    assert.deepEqual([...reasons].sort(), [
      "ClientCertificateInvalid",
      "CredentialsInvalid",
      "SecretInvalid",
      "UpstreamCaInvalid",
      "UpstreamSecretInvalid",
    ]);
    for (const { message, remedy } of found) {
      assert.match(message, BOUND_PROBLEMS[bound]);
      assert.match(remedy, BOUND_FLAGS[bound]);
    }
    assert.equal(snapshot.certificates.length, before.snapshot.certificates.length);
  });
}
