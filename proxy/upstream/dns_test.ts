import assert from "node:assert/strict";
import dns from "node:dns";
import { silentLogger } from "../../shared/log.ts";
import { DeniedAddresses } from "./denied_addresses.ts";
import {
  type DnsAnswer,
  DnsEndpoints,
  type DnsEndpointsOptions,
  DnsResolver,
  systemLookup,
} from "./dns.ts";

/** A name server whose answers the test gives, one by one or for all that is asked. */
class Names {
  /** Names asked for, in order. */
  readonly asked: string[] = [];
  readonly resolver = new DnsResolver((name) => {
    this.asked.push(name);
    if (this.#answer !== null) return this.#answer();
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  });
  #answer: (() => Promise<DnsAnswer>) | null = null;
  #waiting: { resolve: (answer: DnsAnswer) => void; reject: (error: Error) => void }[] = [];

  /** Answers what waits, and everything from now on. */
  answer(...addresses: string[]): void {
    this.#reply({ addresses, ttl: null, missing: null });
  }

  /** The same, but that nobody could say which addresses of this family there are. */
  answerWithout(missing: 4 | 6, ...addresses: string[]): void {
    this.#reply({ addresses, ttl: 60_000, missing });
  }

  #reply(answer: DnsAnswer): void {
    this.#answer = () => Promise.resolve(answer);
    for (const { resolve } of this.#waiting.splice(0)) resolve(answer);
  }

  /** Answers nothing from now on. */
  hang(): void {
    this.#answer = null;
  }

  fail(): void {
    const error = new Error("EAI_AGAIN");
    this.#answer = () => Promise.reject(error);
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  async asks(count: number): Promise<void> {
    await until(() => this.asked.length >= count, `${count} lookups`);
  }
}

/** Waits until `condition` holds; fails after five seconds. */
async function until(condition: () => boolean, what: string, pause = 2): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `waited in vain for ${what}`);
    await new Promise((resume) => setTimeout(resume, pause));
  }
}

/** Refreshes every 10 ms, and stops when unused for a minute. */
async function withEndpoints(
  names: Names,
  run: (endpoints: DnsEndpoints) => Promise<void>,
  options: Omit<DnsEndpointsOptions, "resolver"> = {},
): Promise<void> {
  const { resolver } = names;
  const endpoints = new DnsEndpoints("web.default", 80, { resolver, refresh: 10, ...options });
  try {
    await run(endpoints);
  } finally {
    endpoints.close();
  }
}

function addresses(endpoints: readonly { address: string }[]): string[] {
  return endpoints.map(({ address }) => address);
}

Deno.test("a name resolves to its addresses, sorted, one endpoint each", async () => {
  const names = new Names();
  names.answer("10.0.0.2", "fd00::1", "10.0.0.1", "10.0.0.2");
  await withEndpoints(names, async (endpoints) => {
    assert.deepEqual(endpoints.current(), []);
    assert.deepEqual(await endpoints.ready(), [
      { address: "10.0.0.1", port: 80 },
      { address: "10.0.0.2", port: 80 },
      { address: "fd00::1", port: 80 },
    ]);
  });
});

Deno.test("denied addresses are not endpoints while they are denied", async () => {
  const names = new Names();
  names.answer(
    ...["10.0.0.1", "192.0.2.7", "::ffff:192.0.2.8", "64:ff9b::192.0.2.9", "10.96.0.1"],
    "64:ff9b:1:ffff:c0:2:a00:0", // 192.0.2.10 by local-use NAT64
  );
  const denied = new DeniedAddresses();
  const logged: unknown[] = [];
  const log = { ...silentLogger, warn: (_: string, fields?: object) => void logged.push(fields) };
  await withEndpoints(names, async (endpoints) => {
    assert.equal((await endpoints.ready()).length, 6);
    denied.replace(["10.96.0.0/16", "192.0.2.7", "192.0.2.8", "192.0.2.9", "192.0.2.10"]);
    endpoints.recheck();
    assert.deepEqual(addresses(endpoints.current()), ["10.0.0.1"]);
    await names.asks(names.asked.length + 3);
    assert.deepEqual(addresses(endpoints.current()), ["10.0.0.1"]);
    assert.equal(logged.length, 1);
    denied.replace([]);
    endpoints.recheck();
    assert.equal(endpoints.current().length, 6);
  }, { denied, log });
});

Deno.test("there is no lookup before the first use", async () => {
  const names = new Names();
  await withEndpoints(names, () => Promise.resolve());
  assert.deepEqual(names.asked, []);
});

Deno.test("the array stays the same until an address changes", async () => {
  const names = new Names();
  names.answer("10.0.0.1", "10.0.0.2");
  await withEndpoints(names, async (endpoints) => {
    const first = await endpoints.ready();
    names.answer("10.0.0.2", "10.0.0.1");
    await names.asks(names.asked.length + 2);
    assert.equal(endpoints.current(), first);
    names.answer("10.0.0.3");
    await until(() => endpoints.current() !== first, "a new array");
    assert.deepEqual(addresses(endpoints.current()), ["10.0.0.3"]);
  });
});

Deno.test("concurrent lookups of a name are shared, whatever the port", async () => {
  const names = new Names();
  const { resolver } = names;
  const options = { resolver, refresh: 60_000 };
  const all = [80, 80, 443].map((port) => new DnsEndpoints("web.default", port, options));
  const waiting = all.map((endpoints) => endpoints.ready());
  waiting.push(all[0].ready());
  assert.deepEqual(names.asked, ["web.default"]);
  names.answer("10.0.0.1");
  assert.deepEqual((await Promise.all(waiting)).map((list) => list[0].port), [80, 80, 443, 80]);
  for (const endpoints of all) endpoints.close();
});

Deno.test("the last good addresses stay while lookups fail, which is logged once", async () => {
  const names = new Names();
  const events: string[] = [];
  const record = (message: string) => events.push(message);
  const log = { debug: record, info: record, warn: record, error: record };
  names.answer("10.0.0.1");
  await withEndpoints(names, async (endpoints) => {
    await endpoints.ready();
    names.fail();
    await names.asks(names.asked.length + 4);
    assert.deepEqual(addresses(endpoints.current()), ["10.0.0.1"]);
    assert.deepEqual(events, ["Cannot resolve name, keeping its addresses"]);
    names.answer("10.0.0.2");
    await until(() => addresses(endpoints.current())[0] === "10.0.0.2", "the new address");
    assert.deepEqual(events.slice(1), ["Name resolves again"]);
  }, { log });
});

Deno.test("the last good addresses of a family stay while lookups of it fail", async () => {
  const names = new Names();
  names.answer("10.0.0.1", "fd00::1");
  await withEndpoints(names, async (endpoints) => {
    await endpoints.ready();
    names.answerWithout(4, "fd00::2");
    await until(() => addresses(endpoints.current()).includes("fd00::2"), "the new address");
    assert.deepEqual(addresses(endpoints.current()), ["10.0.0.1", "fd00::2"]);
    // It is tried again sooner than the time to live of the others is over.
    names.answer("10.0.0.2", "fd00::2");
    await until(() => addresses(endpoints.current()).includes("10.0.0.2"), "the other one");
    names.answerWithout(6, "10.0.0.2");
    await names.asks(names.asked.length + 4);
    assert.deepEqual(addresses(endpoints.current()), ["10.0.0.2", "fd00::2"]);
  });
});

Deno.test("a name without addresses is accepted as such at the third response", async () => {
  const names = new Names();
  names.answer("10.0.0.1");
  await withEndpoints(names, async (endpoints) => {
    await endpoints.ready();
    const before = names.asked.length;
    names.answer();
    await until(() => endpoints.current().length === 0, "no endpoints");
    assert.ok(names.asked.length - before >= 3);
    names.answer("10.0.0.1");
    await until(() => endpoints.current().length === 1, "an endpoint");
  });
});

Deno.test("a first lookup that fails or finds nothing gives no endpoint, and is retried", async () => {
  for (const first of ["fail", "answer"] as const) {
    const names = new Names();
    names[first]();
    await withEndpoints(names, async (endpoints) => {
      assert.deepEqual(await endpoints.ready(), []);
      names.answer("10.0.0.1");
      await until(() => endpoints.current().length === 1, "an endpoint");
    });
  }
});

Deno.test("requests do not wait between two lookups", async () => {
  const names = new Names();
  names.fail();
  await withEndpoints(names, async (endpoints) => {
    await endpoints.ready();
    assert.deepEqual(await endpoints.ready(), []);
    assert.equal(names.asked.length, 1);
  }, { refresh: 60_000 });
});

Deno.test("waiting ends if a name server does not respond", async () => {
  const names = new Names();
  await withEndpoints(names, async (endpoints) => {
    assert.deepEqual(await endpoints.ready(), []);
    assert.deepEqual(await endpoints.ready(), []);
    assert.deepEqual(names.asked, ["web.default"]);
    names.answer("10.0.0.1");
    await until(() => endpoints.current().length === 1, "an endpoint");
  }, { patience: 5 });
});

Deno.test("an unused name is not looked up, and is looked up again before its next use", async () => {
  const names = new Names();
  names.answer("10.0.0.1");
  await withEndpoints(names, async (endpoints) => {
    await endpoints.ready();
    let count = -1;
    await until(
      () => {
        const before = count;
        count = names.asked.length;
        return before === count;
      },
      "no more lookups",
      60,
    );
    names.answer("10.0.0.2");
    assert.deepEqual(endpoints.current(), []);
    assert.deepEqual(addresses(await endpoints.ready()), ["10.0.0.2"]);
  }, { idle: 20 });
});

Deno.test("after a pause the last good addresses are used if the lookup fails", async () => {
  const names = new Names();
  names.answer("10.0.0.1");
  await withEndpoints(names, async (endpoints) => {
    await endpoints.ready();
    await new Promise((resume) => setTimeout(resume, 100));
    names.fail();
    assert.deepEqual(endpoints.current(), []);
    assert.deepEqual(addresses(await endpoints.ready()), ["10.0.0.1"]);
  }, { idle: 0 });
});

Deno.test("after a pause the last good addresses are used if the name server does not respond", async () => {
  const names = new Names();
  names.answer("10.0.0.1");
  await withEndpoints(names, async (endpoints) => {
    await endpoints.ready();
    await new Promise((resume) => setTimeout(resume, 100));
    names.hang();
    assert.deepEqual(endpoints.current(), []);
    assert.deepEqual(addresses(await endpoints.ready()), ["10.0.0.1"]);
    assert.deepEqual(addresses(endpoints.current()), ["10.0.0.1"]);
    names.answer("10.0.0.2");
    await until(() => addresses(endpoints.current())[0] === "10.0.0.2", "the new address");
  }, { idle: 0, patience: 5 });
});

Deno.test("there are no lookups after close", async () => {
  const names = new Names();
  names.answer("10.0.0.1");
  await withEndpoints(names, async (endpoints) => {
    const known = await endpoints.ready();
    endpoints.close();
    const count = names.asked.length;
    await new Promise((resume) => setTimeout(resume, 50));
    assert.equal(endpoints.current(), known);
    assert.equal(names.asked.length, count);
  });
});

Deno.test("a TTL decides when to look up again, within bounds", async () => {
  let asked = 0;
  const resolver = new DnsResolver(() => {
    asked++;
    return Promise.resolve({ addresses: ["10.0.0.1"], ttl: 0, missing: null });
  });
  const endpoints = new DnsEndpoints("web.default", 80, { resolver, refresh: 1 });
  await endpoints.ready();
  await new Promise((resume) => setTimeout(resume, 100));
  assert.equal(asked, 1);
  await until(() => asked === 2, "the second lookup, after a second");
  endpoints.close();
});

Deno.test("the system's resolver accepts addresses and the names of the hosts file", async () => {
  assert.deepEqual(await systemLookup("10.1.2.3"), {
    addresses: ["10.1.2.3"],
    ttl: null,
    missing: null,
  });
  assert.deepEqual(await systemLookup("fd00::1"), {
    addresses: ["fd00::1"],
    ttl: null,
    missing: null,
  });
  const { addresses } = await systemLookup("localhost");
  assert.ok(addresses.includes("127.0.0.1") || addresses.includes("::1"), `${addresses}`);
});

Deno.test({
  name: "without permissions for names and the name server a lookup fails with the reason",
  permissions: { net: ["192.0.2.0/24"] },
  fn: async () => {
    await assert.rejects(systemLookup("web.default"), /permission to ask it/);
  },
});

/**
 * A name server that knows one IPv6 address of each name. What it says of IPv4 is cut off, and the rest cannot be
 * had, as it does not listen on TCP.
 */
async function serveIpv6Alone(socket: Deno.DatagramConn): Promise<void> {
  for await (const [query, from] of socket) {
    let end = 12;
    while (query[end] !== 0) end += query[end] + 1;
    const isIpv6 = query[end + 2] === 28;
    const reply = query.slice(0, end + 5);
    // A response with one answer, or a truncated one (RFC 1035 §4.1.1).
    reply.set([isIpv6 ? 0x81 : 0x83, 0x80, 0, 1, 0, isIpv6 ? 1 : 0, 0, 0, 0, 0], 2);
    const answer = [0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 30, 0, 16, 0xfd, ...new Uint8Array(14), 1];
    await socket.send(new Uint8Array([...reply, ...(isIpv6 ? answer : [])]), from);
  }
}

Deno.test({
  name: "a lookup says of which family no address could be had",
  permissions: { net: ["127.0.0.0/8"], sys: ["networkInterfaces"], read: true },
  fn: async () => {
    const socket = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
    const serving = serveIpv6Alone(socket);
    const servers = dns.getServers();
    dns.setServers([`127.0.0.1:${(socket.addr as Deno.NetAddr).port}`]);
    try {
      assert.deepEqual(await systemLookup("web.test."), {
        addresses: ["fd00::1"],
        ttl: 30_000,
        missing: 4,
      });
    } finally {
      dns.setServers(servers);
      socket.close();
      await serving;
    }
  },
});
