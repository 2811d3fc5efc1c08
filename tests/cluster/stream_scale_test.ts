/**
 * Many proxies on one controller, and some that behave badly. Figures are printed: CPU and memory of
 * the controller's process, and how long a change takes until all proxies have it.
 *
 * PINGRESS_FULL=1: five times as long.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { IS_FULL } from "./support/fault_scene.ts";
import {
  connectProxy,
  proxyToken,
  shownProxies,
  streamPort,
  streamTrust,
} from "./support/stream_scene.ts";
import { StreamClient } from "../support/stream_client.ts";
import { readUsage } from "./support/process_usage.ts";

const PROXIES = 200;
const CHANGES = IS_FULL ? 250 : 50;

clusterTest("two hundred proxies follow a burst of changes", async (cluster) => {
  await using scene = await ControllerScene.prepare(cluster);
  await scene.service("web");
  const rules = Array.from({ length: 500 }, (_, i) => rule(`h${i}.example.com`, "/", "web"));
  await scene.ingress("many", { rules });
  const controller = await scene.startController();
  const tokens: string[] = [];
  for (let i = 0; i < PROXIES; i++) tokens.push(await proxyToken(cluster, scene.system));
  const target = {
    port: await streamPort(controller),
    caPem: await streamTrust(cluster, scene.system),
    servername: `pingress-controller.${scene.system}.svc`,
  };
  const before = await readUsage(controller.pid);
  const started = performance.now();
  // Each from an address of its own, as pods have.
  const proxies = tokens.map((token, i) =>
    new StreamClient({ ...target, token, localAddress: `127.1.0.${i + 1}` })
  );
  try {
    await Promise.all(proxies.map((proxy) => proxy.line("snapshot")));
    const connected = performance.now() - started;
    const idle = await readUsage(controller.pid);
    await sleep(3000);
    const rested = await readUsage(controller.pid);
    const waits: number[] = [];
    for (let i = 0; i < CHANGES; i++) {
      const from = performance.now();
      await scene.endpoints("web", [`10.0.${i}.1`, `10.0.${i}.2`]);
      await eventually(
        "change everywhere",
        () => proxies.every(({ latest }) => JSON.stringify(latest).includes(`10.0.${i}.1`)),
      );
      waits.push(Math.max(...proxies.map(({ lastAt }) => lastAt)) - from);
    }
    const after = await readUsage(controller.pid);
    // A burst that nobody waits for.
    for (let i = 0; i < CHANGES; i++) await scene.endpoints("web", [`10.1.${i}.1`]);
    await eventually("all in sync", async () => {
      const { connected, inSync, hash } = await shownProxies(controller);
      return connected === PROXIES && inSync === PROXIES &&
        proxies.every(({ latest }) => latest?.hash === hash);
    });
    const burst = await readUsage(controller.pid);
    waits.sort((a, b) => a - b);
    const deltas = proxies.flatMap(({ lines }) => lines.filter(({ kind }) => kind === "delta"));
    assert.ok(deltas.every(({ hosts }) => (hosts as unknown[]).length === 0));
    assert.ok(proxies.every(({ isEnded }) => !isEnded));
    console.log(
      `${PROXIES} proxies connected in ${round(connected)} ms with ` +
        `${round(idle.cpu - before.cpu)} ms CPU and ${megabytes(idle.rss - before.rss)} MB; ` +
        `idle ${round((rested.cpu - idle.cpu) / 30) / 100} of a core; ` +
        `a change is everywhere after p50 ${round(waits[waits.length >> 1])} ms, ` +
        `max ${round(waits.at(-1)!)} ms (50 ms of them gathered) with ` +
        `${round((after.cpu - rested.cpu) / CHANGES)} ms CPU; ` +
        `a burst of ${CHANGES} took ${round(burst.cpu - after.cpu)} ms CPU; ` +
        `${megabytes(burst.rss)} MB in the end`,
    );
  } finally {
    for (const proxy of proxies) proxy.close();
    await Promise.all(proxies.map((proxy) => proxy.ended()));
  }
});

clusterTest("forged tokens neither keep proxies out nor flood the API server", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, { gateway: true });
  const token = await proxyToken(cluster, scene.system);
  const target = {
    port: await streamPort(scene.controller),
    caPem: await streamTrust(cluster, scene.system),
    servername: `pingress-controller.${scene.system}.svc`,
  };
  const [head, payload] = token.split(".");
  const forge = () => `${head}.${payload}.${crypto.randomUUID().replaceAll("-", "")}`;
  const before = await readUsage(scene.controller.pid);
  const from = scene.gateway!.requests.length;
  const started = performance.now();
  let sent = 0;
  const answers = new Map<number | null, number>();
  const flood = Array.from({ length: 20 }, async () => {
    while (performance.now() - started < 5000) {
      const client = new StreamClient({ ...target, token: forge() });
      sent++;
      await client.ended();
      answers.set(client.status, (answers.get(client.status) ?? 0) + 1);
    }
  });
  await sleep(1000);
  await using proxy = await connectProxy(scene, { token, localAddress: "127.1.0.1" });
  await proxy.line("hello");
  await Promise.all(flood);
  const seconds = (performance.now() - started) / 1000;
  const after = await readUsage(scene.controller.pid);
  const reviews = scene.gateway!.recorded({ resource: "tokenreviews" }, from).length;
  // No more than the burst and the pace allow, and never two for one token.
  const allowed = 1000 + 100 * (seconds + 1) + 1;
  assert.ok(reviews <= Math.min(allowed, sent + 1), `${reviews} reviews of ${sent} tokens`);
  assert.equal(proxy.isEnded, false);
  console.log(
    `${sent} forged tokens in ${round(seconds)} s were ${reviews} reviews, answered ` +
      `${JSON.stringify(Object.fromEntries(answers))}; ${round(after.cpu - before.cpu)} ms CPU, ` +
      `${megabytes(after.rss - before.rss)} MB more`,
  );
});

clusterTest("proxies that do not read use no memory", async (cluster) => {
  await using scene = await ControllerScene.prepare(cluster);
  await scene.service("web");
  for (let part = 0; part < 10; part++) {
    const rules = Array.from(
      { length: 500 },
      (_, i) => rule(`h${part * 500 + i}.example.com`, "/", "web"),
    );
    await scene.ingress(`many-${part}`, { rules });
  }
  const controller = await scene.startController();
  await using good = await connectProxy(scene);
  const whole = await good.line("snapshot");
  const size = JSON.stringify(whole).length;
  const token = await proxyToken(cluster, scene.system);
  const port = await streamPort(controller);
  const caPem = await streamTrust(cluster, scene.system);
  const before = await readUsage(controller.pid);
  const deaf: Deno.TlsConn[] = [];
  while (deaf.length < 50) {
    // No more at once than one address may have.
    const more = Array.from({ length: 10 }, () => deafRequest(port, caPem, token));
    deaf.push(...await Promise.all(more));
    await eventually(
      "deaf proxies",
      async () => (await shownProxies(controller)).connected === deaf.length + 1,
    );
  }
  for (let i = 0; i < 20; i++) {
    const rules = Array.from({ length: 500 }, (_, j) => rule(`i${i}-${j}.example.com`, "/", "web"));
    await scene.cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: `many-${i % 10}` },
      spec: { ingressClassName: "pingress", rules },
    } as Partial<KubeObject>, { namespace: scene.app });
    await sleep(100);
  }
  await eventually("news", async () => {
    const { hash } = await shownProxies(controller);
    return good.latest?.hash === hash;
  });
  const after = await readUsage(controller.pid);
  for (const socket of deaf) socket.close();
  console.log(
    `50 proxies that read nothing of ${megabytes(size)} MB and 20 changes: ` +
      `${megabytes(after.rss - before.rss)} MB more`,
  );
});

/** Asks for the stream, over TLS by Deno, and reads nothing at all. */
async function deafRequest(port: number, caPem: string, token: string): Promise<Deno.TlsConn> {
  const connection = await Deno.connectTls({
    hostname: "127.0.0.1",
    port,
    unsafelyDisableHostnameVerification: true,
    caCerts: [caPem],
  });
  const hello = '{"kind":"hello","proxy":"0.1.0","formats":[2],"version":null,"hash":null}\n';
  await connection.write(
    new TextEncoder().encode(
      `POST /v1/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n` +
        "content-type: application/x-ndjson\r\npingress-protocol: 1\r\n" +
        `transfer-encoding: chunked\r\n\r\n${hello.length.toString(16)}\r\n${hello}\r\n`,
    ),
  );
  return connection;
}

function round(value: number): number {
  return Math.round(value);
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
