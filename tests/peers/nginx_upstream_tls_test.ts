/**
 * TLS to backends of random Ingresses, through ingress-nginx's configuration of nginx and through us. In: a seed,
 * and backends with all kinds of certificates. Out: the same status, SNI and client certificate, or the
 * pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise: Ingresses without the Secret or without an
 * authority in it, and what holds where no name and no versions are written.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { CertificateLoader } from "../../proxy/certificates/loader.ts";
import { silentLogger } from "../../shared/log.ts";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Peer, statusOf } from "../support/backend.ts";
import { chainOf } from "../support/certificate_chain.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { TlsBackend } from "../support/tls_backend.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type BackendIngress, backendServers, type SecretFiles } from "./nginx_backends.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
const INGRESSES = 200;

const NAMES = [
  "web.test",
  "web.test",
  "WEB.test",
  "a.wild.test",
  "a.b.wild.test",
  "else.test",
  "127.0.0.1",
];
/** Names of Secrets; the last ones close the paths. */
const SECRETS = ["default/ca", "default/both", "default/both", "default/none", "other/ca"];

type SecureIngress = BackendIngress & { readonly service: string };

/** By names of Services. */
async function startBackends() {
  const names = ["web.test", "*.wild.test"];
  const known = await certificateFor("known", { names });
  const stranger = await CertificateAuthority.create("Stranger");
  const past = { validFrom: Date.now() - 2e9, validTo: Date.now() - 1e9 };
  const chains = [await chainOf("web.test", 1), await chainOf("web.test", 2)];
  const version = (only: "TLSv1.2" | "TLSv1.3") => ({ minVersion: only, maxVersion: only });
  const demands = { requestCert: true, rejectUnauthorized: true, ca: authority.certificate };
  const backends: Readonly<Record<string, TlsBackend>> = {
    known: await TlsBackend.start(known),
    older: await TlsBackend.start(known, version("TLSv1.2")),
    newer: await TlsBackend.start(known, version("TLSv1.3")),
    stranger: await TlsBackend.start({ ...known, ...stranger.issue({ names }) }),
    expired: await TlsBackend.start(await certificateFor("expired", { names, ...past })),
    demanding: await TlsBackend.start(known, demands),
    address: await TlsBackend.start(await certificateFor("address", { names: ["127.0.0.1"] })),
    one: await TlsBackend.start(chains[0].server),
    two: await TlsBackend.start(chains[1].server),
  };
  return { backends, authorities: [authority.certificate, ...chains.map(({ root }) => root)] };
}

function randomIngress(
  random: Random,
  index: number,
  ports: Readonly<Record<string, number>>,
  files: Readonly<Record<string, SecretFiles>>,
): SecureIngress {
  const secret = random.oneIn(8) ? random.pick(SECRETS) : random.pick(SECRETS.slice(0, 3));
  const annotations: Record<string, string> = {
    "backend-protocol": random.pick(["HTTPS", "HTTPS", "https"]),
    "proxy-ssl-secret": secret,
    "proxy-ssl-protocols": random.pick(["TLSv1.2", "TLSv1.3", "TLSv1.2 TLSv1.3"]),
  };
  const sometimes = (name: string, value: () => string) => {
    if (!random.oneIn(4)) annotations[name] = value();
  };
  sometimes("proxy-ssl-verify", () => random.pick(["on", "on", "off"]));
  sometimes("proxy-ssl-server-name", () => random.pick(["on", "on", "off"]));
  sometimes("proxy-ssl-verify-depth", () => random.pick(["0", "1", "2", "3"]));
  const needsName = annotations["proxy-ssl-verify"] === "on" ||
    annotations["proxy-ssl-server-name"] === "on";
  if (needsName || random.oneIn(2)) annotations["proxy-ssl-name"] = random.pick(NAMES);
  const service = random.pick(Object.keys(ports));
  return {
    ...{ host: `h${index}.test`, annotations, service, paths: [["/", "Prefix"]] },
    // Without the Secret, the location has nothing but 503.
    endpoints: secret in files ? [ports[service]] : [],
    ...(secret in files ? { files: files[secret] } : {}),
  };
}

/** Status, SNI, and whether a client certificate was shown. */
async function outcome(port: number, { host }: SecureIngress): Promise<string> {
  using client = await Peer.connect(port);
  const answer = await client.ask(`GET /a HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const status = statusOf(answer);
  // Without the protocol that was agreed on: nginx offers none.
  return status === 200 ? `200 ${answer.body.split(" ").slice(0, 2).join(" ")}` : String(status);
}

Deno.test("backends with TLS are asked, verified and shown certificates as by ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const { backends, authorities } = await startBackends();
  const folder = await Deno.makeTempDir({ prefix: "nginx-tls-" });
  const shown = await certificateFor("shown", { names: ["pingress.test"] });
  const [ca, pair] = [authorities.join("\n"), `${shown.chain}${shown.key.reveal()}`];
  await Deno.writeTextFile(join(folder, "ca.pem"), ca);
  await Deno.writeTextFile(join(folder, "pair.pem"), pair);
  const files = {
    "default/ca": { authority: join(folder, "ca.pem"), certificate: null },
    "default/both": { authority: join(folder, "ca.pem"), certificate: join(folder, "pair.pem") },
  };
  const ports = Object.fromEntries(
    Object.entries(backends).map(([name, { port }]) => [name, port]),
  );
  const ingresses = Array.from(
    { length: INGRESSES },
    (_, index) => randomIngress(random.fork(), index, ports, files),
  );
  let nginx: Nginx | null = null;
  try {
    const server = await Nginx.startWith(program, (port) => backendServers(ingresses, port));
    nginx = server;
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    const secrets = [["default", "ca"], ["default", "both"], ["other", "ca"]].map(
      ([namespace, name]) => ({
        metadata: { namespace, name },
        data: {
          "ca.crt": btoa(ca),
          ...(name === "both"
            ? { "tls.crt": btoa(shown.chain), "tls.key": btoa(shown.key.reveal()) }
            : {}),
        },
      }),
    );
    const snapshot = annotatedSnapshot(byName, [], "nginx", secrets, ports);
    const loader = new CertificateLoader({ folder: "/", log: silentLogger, now: Date.now });
    proxy.server.apply(snapshot, loader.load(snapshot));
    const pairs = new PairCounts();
    const found = new Map<string, number>();
    for (const ingress of ingresses) {
      const theirs = await outcome(server.port, ingress);
      const ours = await outcome(proxy.port, ingress);
      const words = `${ingress.service} ${JSON.stringify(ingress.annotations)}`;
      assert.equal(ours, theirs, words);
      pairs.add(Object.keys(ingress.annotations));
      found.set(theirs, (found.get(theirs) ?? 0) + 1);
    }
    pairs.assertEnough(new Set(ingresses.flatMap(({ annotations }) => Object.keys(annotations))));
    const outcomes = [...found.keys()];
    for (
      const what of [/^200 - unknown/, /^200 \S+\.test unknown/, /^200 .* known/, /^502/, /^503/]
    ) {
      assert.ok(outcomes.some((outcome) => what.test(outcome)), `no pair led to ${what}`);
    }
  } finally {
    await nginx?.stop();
    for (const backend of Object.values(backends)) await backend[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
});
