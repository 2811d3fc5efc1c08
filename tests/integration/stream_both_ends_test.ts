/** The stream with its real ends: the controller's server, and a proxy's sources. No cluster. */
import assert from "node:assert/strict";
import { ControllerMetrics } from "../../controller/metrics.ts";
import { StreamServer } from "../../controller/stream/server.ts";
import type { SessionTiming } from "../../controller/stream/session.ts";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { SnapshotSources } from "../../proxy/process/sources.ts";
import { silentLogger } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Snapshot, SnapshotVersion } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";
import { seeing, until } from "../support/stream_scene.ts";
import { randomSnapshots, textOf } from "../support/streamed_snapshots.ts";

const authority = await CertificateAuthority.create("both ends");

async function serve(port: number, claims: SnapshotVersion[], timing?: Partial<SessionTiming>) {
  const { chain, key } = await authority.issue({ names: ["localhost"] });
  const current = {
    certPem: chain,
    keyPem: new Redacted(key.reveal()),
    authority: "",
    validTo: Infinity,
  };
  const server = new StreamServer({
    address: { hostname: "127.0.0.1", port },
    certificates: { current, onChange: () => {} },
    reviews: {
      review: (token) =>
        Promise.resolve({
          kind: "good",
          identity: { pod: token.reveal(), podUid: token.reveal(), node: "n" },
          expiresAt: Infinity,
        }),
      stop: () => {},
      forget: () => {},
    },
    zoneOf: () => Promise.resolve("zone-a"),
    name: "controller-0",
    metrics: new ControllerMetrics(),
    log: silentLogger,
    onClaim: (version) => claims.push(version),
    onNews: () => {},
    timing,
  });
  await server.start();
  return server;
}

/** A proxy that follows `localhost:port`, and what it has applied. */
async function follow(port: number) {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/ca.crt`, authority.certificate);
  await Deno.writeTextFile(`${folder}/token`, "proxy-1");
  const applied: Snapshot[] = [];
  const zones: string[] = [];
  const sources = new SnapshotSources({
    file: `${folder}/proxy.json`,
    watch: [],
    clusterDomain: "cluster.local",
    maxRouteLoss: 0,
    controller: {
      address: { hostname: "localhost", port },
      ca: `${folder}/ca.crt`,
      token: `${folder}/token`,
    },
    log: silentLogger,
    apply(snapshot) {
      applied.push(snapshot);
      return Promise.resolve();
    },
    onRefused: () => {},
    onNone: () => {},
    onZone: (zone) => zones.push(zone),
  });
  await sources.load();
  sources.start();
  return {
    sources,
    applied,
    zones,
    async [Symbol.asyncDispose]() {
      await sources.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

Deno.test("after any changes a proxy has its controller's snapshot, over reconnects and new replicas", async () => {
  const claims: SnapshotVersion[] = [];
  // Streams that are old after a moment, so that changes meet goodbyes.
  let server = await serve(0, claims, { age: 300 });
  const { port } = server.address;
  await using proxy = await follow(port);
  const random = new Random(7);
  let last: Snapshot | null = null;
  let count = 0;
  for (const snapshot of randomSnapshots(random, 150)) {
    server.update(snapshot);
    last = snapshot;
    count++;
    if (count % 10 === 0) await new Promise((resolve) => setTimeout(resolve, random.below(30)));
    if (count % 50 === 0) {
      await server.stop();
      server = await serve(port, claims, { age: 300 });
      server.update(snapshot);
    }
  }
  await until(() => {
    const { version } = proxy.sources.state;
    return version !== null && version.seen.Ingress === last!.version.seen.Ingress;
  }, "the proxy has the last one");
  assert.equal(textOf(proxy.applied.at(-1)!), textOf(last!));
  await until(() => server.programmed.inSync === 1, "the controller knows");
  const updates = proxy.sources.scraped!.updates;
  assert.deepEqual([updates.delta.lost, updates.snapshot.lost, updates.same.lost], [0, 0, 0]);
  assert.deepEqual([...new Set(proxy.zones)], ["zone-a"]);
  await server.stop();
});

Deno.test("a replica that has seen less is told so, and its next update is applied", async () => {
  const claims: SnapshotVersion[] = [];
  let server = await serve(0, claims);
  const { port } = server.address;
  await using proxy = await follow(port);
  server.update(seeing(9, ["a.test", "b.test"]));
  await until(() => proxy.applied.length === 1, "it has been applied");
  await server.stop();
  server = await serve(port, claims);
  claims.length = 0;
  server.update(seeing(7, ["a.test"]));
  await until(() => server.sessions.some(({ refusal }) => refusal !== null), "it is refused");
  assert.ok(claims.some(({ seen }) => seen.Ingress === "9"));
  assert.equal(proxy.sources.state.version?.seen.Ingress, "9");
  server.update(seeing(10, ["c.test"]));
  await until(() => proxy.applied.length === 2, "the newer one is applied");
  await server.stop();
});
