/** Ten thousand connections at once: those within the limit are served, the others refused. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, statusOf, until } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { falls, FULL, mib } from "./memory_watch.ts";
import { valueOf } from "./metrics.ts";

/** How many come, of which so many find room. */
const COUNT = FULL ? 10_500 : 2_100;
const LIMIT = FULL ? 10_000 : 2_000;
/** Come at the same time: the queue of a listener holds 511. */
const AT_ONCE = 200;
/** What a connection may cost, in bytes. */
const PER_CONNECTION = 64 * 1024;

/** Descriptors that this process and the proxy need besides. */
const DESCRIPTORS = 2 * COUNT;
const REQUEST = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const SLOW_REQUEST = REQUEST.replace("/", "/slow");

/** Requests of the bystander that wait for their responses, and how long (ms) each takes. */
const AHEAD = 6;
const SLOWNESS = 400;

/**
 * Asks on one connection all the time, some requests ahead: were its next one sent after the response, it
 * could be idle for long enough to make way, on a busy machine.
 */
class Bystander {
  served = 0;
  refused = 0;
  #over = false;
  readonly #running: Promise<void>;

  constructor(port: number) {
    this.#running = this.#run(port);
  }

  async leave(): Promise<this> {
    this.#over = true;
    await this.#running;
    return this;
  }

  async #run(port: number): Promise<void> {
    using client = await Peer.connect(port);
    let ahead = AHEAD;
    await client.send(SLOW_REQUEST.repeat(ahead));
    while (ahead > 0) {
      if (statusOf(await client.answer()) === 200) this.served++;
      else this.refused++;
      if (this.#over || this.refused > 0) ahead--;
      else await client.send(SLOW_REQUEST);
    }
  }
}

async function play(peer: Peer): Promise<void> {
  for (let request = await peer.request(); request !== null; request = await peer.request()) {
    if (request.head.startsWith("GET /slow ")) {
      await new Promise((resume) => setTimeout(resume, SLOWNESS));
    }
    await peer.send(reply("ok"));
  }
}

/** The descriptors that a process started here gets. */
async function descriptorLimit(): Promise<number> {
  const limits = await Deno.readTextFile("/proc/self/limits");
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1]);
}

async function inTurns<T>(count: number, one: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < count) {
      const index = next++;
      results[index] = await one(index);
    }
  }));
  return results;
}

Deno.test(`${COUNT} connections at once, ${LIMIT} of them accepted`, async () => {
  assert.ok(await descriptorLimit() >= COUNT + 1_000, `raise the limit (ulimit -n ${DESCRIPTORS})`);
  await using backend = new Backend(play);
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: [
      "--workers=2",
      "--allow-loopback-upstreams",
      // Those who are idle are not to make way before the limit is met.
      `--connection-limit=${LIMIT}`,
      "--client-idle-timeout=10m",
      "--request-head-timeout=10m",
    ],
  });
  const bystander = new Bystander(proxy.httpPort);
  await until("the bystander is served", () => bystander.served > 0);
  const before = await proxy.memory();
  // Each has begun a request: it is not idle, so it stays.
  const clients = await inTurns(COUNT, async () => {
    const client = await Peer.connect(proxy.httpPort);
    await client.send("GET / HTTP/1.1\r\n");
    return client;
  });
  const open = async () => {
    const { text } = await proxy.admin("/metrics");
    return valueOf(text, "pingress_connections_open");
  };
  assert.equal(await falls(async () => LIMIT - await open(), 0), 0, "the limit is met");
  const cost = (await proxy.memory() - before) / LIMIT;
  const statuses = new Map<number, number>();
  const answers = await inTurns(COUNT, (index) => clients[index].ask("Host: a.test\r\n\r\n"));
  for (const status of answers.map(statusOf)) {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  console.log(
    `${LIMIT} connections open, ${(cost / 1024).toFixed(1)} KiB each (in all ` +
      `${mib(cost * LIMIT)}); answers: ${statuses.get(200)}, refused: ${statuses.get(0)}`,
  );
  assert.deepEqual(Object.fromEntries(statuses), { 0: COUNT - LIMIT + 1, 200: LIMIT - 1 });
  assert.ok(cost < PER_CONNECTION, `a connection costs ${(cost / 1024).toFixed(1)} KiB`);
  for (const client of clients) client.close();
  assert.ok(await falls(open, 1) <= 1, "all but the bystander are gone");
  const { served, refused } = await bystander.leave();
  assert.ok(served > 0);
  assert.equal(refused, 0, "who was there before notices nothing");
  using later = await Peer.connect(proxy.httpPort);
  assert.equal(statusOf(await later.ask(REQUEST)), 200, "there is room again");
});
