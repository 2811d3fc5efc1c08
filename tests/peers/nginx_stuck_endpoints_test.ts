/**
 * Endpoints that take no connection, or no data, beside nginx as ingress-nginx configures it. In: limits of a few
 * seconds. Out: the same status, and the same request at the endpoint that is asked then.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, refusingPort, statusOf } from "../support/backend.ts";
import { DeafEndpoint } from "../support/deaf_endpoint.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type BackendIngress, backendServers } from "./nginx_backends.ts";
import { PlannedBackends } from "./planned_backends.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
const LIMITS = { ejectionFailures: 0, ejectionAnswers: 0, retryBudget: 1000 };

/** More than the sockets between take, as Linux grows them. */
const LARGE = new Uint8Array(24 * 1024 * 1024).fill(0x78);

Deno.test("an endpoint that takes no connection in time is replaced by another, as by ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  await using backends = new PlannedBackends(1);
  using deaf = await DeafEndpoint.listen();
  const random = new Random(SEED);
  const services: Readonly<Record<string, readonly number[]>> = {
    half: [deaf.port, ...backends.ports],
    none: [deaf.port],
    refusing: [refusingPort()],
  };
  const ingresses = Array.from({ length: 48 }, (_, i): BackendIngress & { service: string } => {
    const service = Object.keys(services)[i % 3];
    const annotations = { "proxy-connect-timeout": random.pick(["6", "8"]) };
    const host = `h${i}.test`;
    return { host, annotations, service, endpoints: services[service], paths: [["/", "Prefix"]] };
  });
  const nginx = await Nginx.startWith(program, (port) => backendServers(ingresses, port));
  try {
    using proxy = new TestProxy([], LIMITS);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [], "nginx", [], services));
    await Promise.all(ingresses.map(async ({ host, service, annotations }, i) => {
      const method = random.pick(["GET", "PUT", "POST"]);
      const request = { method, host, target: "/a", plan: [], body: method === "GET" ? "" : "abc" };
      const [theirs, ours] = await Promise.all([
        backends.ask(nginx.port, `nginx-${i}`, request),
        backends.ask(proxy.port, `pingress-${i}`, request),
      ]);
      const words = `${service} ${JSON.stringify(annotations)} ${method}`;
      // A difference that the table states.
      const expected = service === "none" ? { ...theirs, status: 502 } : theirs;
      assert.deepEqual(ours, expected, words);
      assert.equal(theirs.status, { half: 200, none: 504, refusing: 502 }[service], words);
    }));
  } finally {
    await nginx.stop();
  }
});

/** What a client gets that sends for as long as somebody takes it. */
async function statusOfUpload(port: number, host: string): Promise<number> {
  using client = await Peer.connect(port);
  const lines = `Host: ${host}\r\nContent-Length: ${LARGE.length}\r\nConnection: close\r\n`;
  await client.send(`PUT /a HTTP/1.1\r\n${lines}\r\n`);
  const sending = client.send(LARGE);
  const status = statusOf(await client.answer());
  client.close();
  await sending;
  return status;
}

Deno.test("an endpoint that takes no data for proxy-send-timeout leads to 504, as with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const over = Promise.withResolvers<void>();
  await using stuck = new Backend(async (peer) => {
    await peer.read();
    await over.promise;
    peer.close();
  });
  const ingresses = ["2", "3"].map((seconds, i): BackendIngress => ({
    host: `h${i}.test`,
    annotations: {
      "proxy-send-timeout": seconds,
      "proxy-body-size": "0",
      "proxy-request-buffering": "off",
      "proxy-next-upstream": "off",
    },
    endpoints: [stuck.port],
    paths: [["/", "Prefix"]],
  }));
  const nginx = await Nginx.startWith(program, (port) => backendServers(ingresses, port));
  try {
    using proxy = new TestProxy([], LIMITS);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [stuck.port], "nginx"));
    const statuses = await Promise.all(
      ingresses.flatMap(({ host }) =>
        [nginx.port, proxy.port].map((port) => statusOfUpload(port, host))
      ),
    );
    assert.deepEqual(statuses, ingresses.flatMap(() => [504, 504]));
  } finally {
    over.resolve();
    await nginx.stop();
  }
});
