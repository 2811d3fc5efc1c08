/** The order within one change: nothing that is asked for meets half of it. */
import assert from "node:assert/strict";
import { CertificateLoader } from "../../proxy/certificates/loader.ts";
import { Content } from "../../shared/stream/content.ts";
import { deltaLine, wholeLine } from "../../shared/stream/change.ts";
import { readUpdate } from "../../shared/stream/messages.ts";
import { ReceivedContent } from "../../shared/stream/received.ts";
import { silentLogger } from "../../shared/log.ts";
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import { Backend } from "../support/backend.ts";
import { startFleet } from "../support/fleet.ts";
import { seeing } from "../support/stream_scene.ts";
import { authority, TlsClient } from "../support/tls_proxy.ts";

const ORIGIN = { kind: "Secret", namespace: "a", name: "tls", field: "data" };

/** Two hosts come and go with each change: each with an upstream and a certificate of its own. */
async function changes(port: number, count: number): Promise<Snapshot[]> {
  const certificates: Certificate[] = [];
  for (let host = 0; host < 4; host++) {
    const { chain, key } = await authority.issue({ names: [`h${host}.test`] });
    certificates.push({
      id: `c${host}`,
      hosts: [`h${host}.test`],
      chain: { kind: "pem", pem: chain },
      key: { kind: "secret", pem: key },
      origin: ORIGIN,
    });
  }
  return Array.from({ length: count }, (_, i) => {
    const hosts = [0, 1 + i % 3].sort();
    const base = seeing(i + 1, hosts.map((host) => `h${host}.test`));
    return {
      ...base,
      routes: base.routes.map((route, at) => ({
        ...route,
        // Each change gives each host another upstream, and takes the one before away.
        action: { kind: "forward", backends: [{ upstream: `a/h${hosts[at]}-${i}:80` }] },
      })),
      upstreams: hosts.map((host) => ({
        id: `a/h${host}-${i}:80`,
        protocol: "http",
        addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
      })),
      certificates: hosts.map((host) => certificates[host]),
    };
  });
}

Deno.test("under load, no request matches a route without its upstream, and no handshake a host without its certificate", async () => {
  await using backend = new Backend();
  const snapshots = await changes(backend.port, 60);
  const fleet = startFleet(2);
  const loader = new CertificateLoader({ folder: "/", log: silentLogger, now: Date.now });
  const received = new ReceivedContent();
  /** Takes a line as a proxy does; settles when every worker has it. */
  const take = (line: string) => {
    const read = readUpdate(line.trimEnd());
    assert.ok(read.ok && (read.message.kind === "snapshot" || read.message.kind === "delta"));
    const taken = received.take(read.message);
    assert.ok(taken.ok);
    return fleet.serve(taken.snapshot, loader.load(taken.snapshot), taken.change);
  };
  try {
    let content = Content.of(snapshots[0]);
    const first = take(wholeLine(content));
    const { https } = await fleet.listen({
      http: [],
      https: [{ hostname: "127.0.0.1", port: 0 }],
    });
    await first;
    let ended = false;
    const answers = new Map<string, number>();
    const load = Array.from({ length: 4 }, async () => {
      while (!ended) {
        using client = await TlsClient.connect(https[0].port, { name: "h0.test" });
        assert.equal(client.names, "h0.test");
        for (let i = 0; i < 5; i++) {
          const status = (await client.ask("GET / HTTP/1.1\r\nHost: h0.test")).slice(9, 12);
          answers.set(status, (answers.get(status) ?? 0) + 1);
        }
      }
    });
    for (const snapshot of snapshots.slice(1)) {
      const next = Content.of(snapshot, content);
      await take(deltaLine(content, next));
      content = next;
      // What has come is there as soon as every worker has said so, in whichever.
      const { host } = snapshot.routes[1];
      for (let i = 0; i < 2; i++) {
        using client = await TlsClient.connect(https[0].port, { name: host });
        assert.equal(client.names, host);
        assert.match(await client.ask(`GET / HTTP/1.1\r\nHost: ${host}`), /^HTTP\/1\.1 200 /);
      }
    }
    ended = true;
    await Promise.all(load);
    assert.deepEqual([...answers.keys()], ["200"]);
  } finally {
    fleet.close();
  }
});

Deno.test("'applied' waits for every live worker, and for no lost one", async () => {
  const fleet = startFleet(2);
  const apply = (epoch: string) => fleet.serve({ ...seeing(1), version: { epoch, seen: {} } }, []);
  try {
    const first = apply("file");
    await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    await first;
    await apply("file");
    // Both die of this one before they can say that they have it.
    await apply("throw");
    await apply("file");
  } finally {
    fleet.close();
  }
});
