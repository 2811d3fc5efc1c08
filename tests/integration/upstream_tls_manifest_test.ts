/** Backends that speak TLS as manifests ask for it: from a Service's annotations to the answer. */
import assert from "node:assert/strict";
import { CertificateLoader } from "../../proxy/certificates/loader.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { ProxyServer } from "../../proxy/server.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { silentLogger } from "../../shared/log.ts";
import { Peer, statusOf } from "../support/backend.ts";
import { planFor, problemLines } from "../support/dev_plan.ts";
import { TlsBackend } from "../support/tls_backend.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";

const WEB = await certificateFor("web", { names: ["web.default.svc"] });
const CLIENT = await certificateFor("client", { names: ["pingress"] });
const DEMANDS = { requestCert: true, rejectUnauthorized: true, ca: authority.certificate };

function manifests(annotations: Readonly<Record<string, string>>): string {
  return [
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "web" },
      spec: { defaultBackend: { service: { name: "web", port: { number: 443 } } } },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", annotations },
      spec: { ports: [{ port: 443, appProtocol: "https" }] },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "web-ca" },
      stringData: { "ca.crt": authority.certificate },
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/tls",
      metadata: { name: "proxy-tls" },
      stringData: { "tls.crt": CLIENT.chain, "tls.key": CLIENT.key.reveal() },
    },
  ].map((object) => JSON.stringify(object)).join("\n---\n");
}

/** What a client gets whose request is sent to the backend by a mapping of `deno task dev`. */
async function ask(annotations: Readonly<Record<string, string>>, port: number): Promise<string> {
  const { snapshot } = planFor({ "a.yaml": manifests(annotations) }, {
    map: [`default/web=127.0.0.1:${port}`],
  });
  const loader = new CertificateLoader({ folder: "/", log: silentLogger, now: Date.now });
  const server = new ProxyServer({
    limits: DEFAULT_LIMITS,
    trustedProxies: CidrList.empty,
    upstreamNetworks: CidrList.empty,
    allowLoopbackUpstreams: true,
    sslRedirect: false,
    sslRedirectPort: 0,
    log: silentLogger,
  });
  server.apply(snapshot, loader.load(snapshot));
  try {
    using client = await Peer.connect(server.listen({ hostname: "127.0.0.1", port: 0 }).port);
    const answer = await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    return `${statusOf(answer)} ${answer.body}`;
  } finally {
    server.close();
  }
}

Deno.test("annotations of a Service set how its backend is verified, and the client certificate", async () => {
  await using backend = await TlsBackend.start(WEB, DEMANDS);
  const settings = {
    "pingress.io/upstream-tls-ca": "web-ca",
    "pingress.io/upstream-tls-client-certificate": "proxy-tls",
  };
  assert.equal(await ask(settings, backend.port), "200 web.default.svc known http/1.1");
  const elsewhere = { ...settings, "pingress.io/upstream-tls-name": "other.example.org" };
  assert.match(await ask(elsewhere, backend.port), /^502 /);
  const without = { "pingress.io/upstream-tls-ca": "web-ca" };
  assert.match(await ask(without, backend.port), /^502 /);
});

Deno.test("a backend that no annotation configures is not trusted", async () => {
  await using backend = await TlsBackend.start(WEB);
  assert.match(await ask({}, backend.port), /^502 /);
  const unverified = { "pingress.io/upstream-tls-verify": "false" };
  assert.equal(await ask(unverified, backend.port), "200 web.default.svc unknown http/1.1");
});

Deno.test("a sample backend uses plain text, and a CA that is in no file is reported", () => {
  const annotations = { "pingress.io/upstream-tls-ca": "missing" };
  const plan = planFor({ "a.yaml": manifests(annotations) });
  assert.deepEqual(plan.snapshot.upstreams.map(({ protocol, tls }) => [protocol, tls]), [
    ["http", undefined],
  ]);
  assert.deepEqual(problemLines(plan).map((line) => line.split("  ").at(-1)), [
    "UpstreamCaInvalid",
  ]);
});
