import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";
import type { Resources } from "../../kube/resources.ts";
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
