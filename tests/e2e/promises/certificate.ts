/**
 * A certificate is rotated again and again under TLS load. In: a scene. Out: handshakes that failed:
 * none, and whether any showed the old one after another had shown the new one.
 */
import { X509Certificate } from "node:crypto";
import type { KubeObject } from "../../cluster/support/api_client.ts";
import type { CertificateSeen } from "../load/plan.ts";
import type { Load } from "../load/load.ts";
import { Finding, percentile } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

/** Requests and handshakes a second. */
const RATE = 60;
const HANDSHAKES = 20;

/** After this long without the new one something is broken, in ms. */
const PATIENCE = 60_000;

/** What a change may take until handshakes show it, in ms; as that of a route. */
const AIM = 300;

export async function certificateRotation(scene: Scene, form: Form): Promise<Finding> {
  const times = form === "long" ? 50 : 8;
  const finding = new Finding("certificate");
  await scene.within("certificate", async (namespace) => {
    const host = "certificate.test";
    const { cluster } = scene;
    const first = await issue(scene, host);
    await cluster.apply(first.secret, { namespace });
    await scene.application({ namespace, replicas: 2, host, tlsSecret: "tls" });
    const path = "/?id=1";
    await using load = await scene.load({
      streams: mixedStreams(host, RATE, { secure: true }),
      handshakes: [{ name: "handshakes", rate: HANDSHAKES, host, path }],
    });
    await sees(load, first.fingerprint);
    const order = [first.fingerprint];
    const took: number[] = [];
    for (let index = 0; index < times; index++) {
      const { secret, fingerprint } = await issue(scene, host);
      order.push(fingerprint);
      await cluster.apply(secret, { namespace });
      const applied = Date.now();
      const { at } = await sees(load, fingerprint);
      took.push(Math.max(0, at - applied));
    }
    await load.lasts(1_000);
    noteLoad(finding, await load.stop());
    finding.note("rotations", times);
    finding.count("failed", load.failures.length, 0, linesOf(load.failures));
    const late = backwards(load.certificates, order);
    finding.count(
      "handshakes that began after another had shown a newer one",
      late.length,
      0,
      late,
    );
    finding.time("applied until a handshake shows it, p50", percentile(took, 0.5), AIM);
  });
  return finding;
}

/** A Secret `tls` with a new certificate, and its fingerprint. */
export async function issue(scene: Scene, host: string) {
  const { chain, key } = await scene.authority.issue({ names: [host] });
  const secret: Partial<KubeObject> = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "tls" },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": chain, "tls.key": key.reveal() },
  };
  return { secret, fingerprint: new X509Certificate(chain).fingerprint256 };
}

async function sees(load: Load, fingerprint: string): Promise<CertificateSeen> {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const seen = load.certificates.find((certificate) => certificate.fingerprint === fingerprint);
    if (seen !== undefined) return seen;
    if (performance.now() > end) throw new Error("no handshake shows the new certificate");
    await load.lasts(20);
  }
}

/** Handshakes with a certificate that is older in `order` than one seen before they began. */
export function backwards(seen: readonly CertificateSeen[], order: readonly string[]): string[] {
  const found: string[] = [];
  for (const { began, fingerprint } of seen) {
    const age = order.indexOf(fingerprint);
    const newer = seen.find((other) => other.at < began && order.indexOf(other.fingerprint) > age);
    if (newer !== undefined) found.push(`${began - newer.at} ms after it, certificate ${age}`);
  }
  return found;
}
