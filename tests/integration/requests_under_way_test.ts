/**
 * What balancing by load rests on, and removal: however a request ends, its endpoint is no longer
 * asked then; and no request goes to an endpoint that was removed before the client sent it.
 */
import assert from "node:assert/strict";
import type { Balance } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";
import { Backend, Peer, reply, statusOf, until } from "../support/backend.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
const LARGE = reply("x".repeat(300_000));

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}

/** A pod that ends requests in every way that there is. */
class Pod {
  readonly backend: Backend;
  /** The last of the lists that it is in. */
  lastListed = 0;
  served = 0;

  constructor(random: Random, late: string[]) {
    this.backend = new Backend(async (peer) => {
      for (;;) {
        const request = await peer.request();
        if (request === null) return;
        const sent = Number(/\r\nx-list: (\d+)/i.exec(request.head)?.[1]);
        if (this.lastListed < sent) late.push(`list ${sent}, left after ${this.lastListed}`);
        this.served++;
        const isUpgrade = /\r\nupgrade: echo/i.test(request.head);
        if (random.oneIn(3)) await pause(random.below(5));
        switch (random.below(10)) {
          case 0:
            return;
          case 1:
            await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
            return;
          case 2:
            await peer.send("not HTTP\r\n\r\n");
            return;
          case 3:
            await peer.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
            break;
          case 4:
            // Never: the proxy's time or the client's patience ends it.
            await peer.ended();
            return;
          case 5:
            await peer.send(LARGE);
            break;
          default:
            if (!isUpgrade) {
              await peer.send(reply("ok"));
              break;
            }
            await peer.send(SWITCHED);
            for (let bytes = await peer.read(); bytes !== null; bytes = await peer.read()) {
              await peer.send(bytes.slice());
            }
            return;
        }
      }
    });
  }
}

for (const balance of ["round-robin", "least-requests"] as Balance[]) {
  Deno.test(`${balance}: however requests end, none counts as active afterwards, and none reaches a removed endpoint`, async () => {
    const random = new Random(balance.length);
    const late: string[] = [];
    const pods = Array.from({ length: 5 }, () => new Pod(random.fork(), late));
    using proxy = new TestProxy([], {
      holdTimeout: 30,
      responseHeadTimeout: 60,
      connectTimeout: 200,
      ejectionTime: 20,
    });
    let list = 0;
    const apply = () => {
      list++;
      const listed = random.oneIn(5) ? [] : pods.filter(() => random.oneIn(2));
      for (const pod of listed) pod.lastListed = list;
      const snapshot = snapshotOf(listed.map(({ backend }) => backend.port));
      proxy.server.apply({
        ...snapshot,
        upstreams: snapshot.upstreams.map((upstream) => ({ ...upstream, balance })),
      });
    };
    const statuses = new Set<number>();
    let most = 0;
    const client = async (choices: Random) => {
      for (let n = 0; n < 60; n++) {
        using peer = await Peer.connect(proxy.port);
        for (let asked = choices.below(4); asked >= 0; asked--) {
          const isUpgrade = choices.oneIn(6);
          const body = choices.oneIn(2) ? "" : "abc";
          const method = choices.pick(["GET", "PUT", "POST"]);
          const fields = isUpgrade
            ? "Connection: Upgrade\r\nUpgrade: echo\r\n"
            : `Content-Length: ${body.length}\r\n`;
          const current = list;
          await peer.send(
            `${isUpgrade ? "GET" : method} / HTTP/1.1\r\nHost: a.test\r\nX-List: ${current}\r\n` +
              `${fields}\r\n${isUpgrade ? "" : body}`,
          );
          most = Math.max(most, proxy.server.upstreamRequestCount);
          if (choices.oneIn(4)) {
            await pause(choices.below(8));
            break;
          }
          const answer = isUpgrade
            ? await peer.reader.head("response")
            : await peer.reader.message("response");
          if (answer === null || answer.head === "") break;
          statuses.add(statusOf(answer));
          if (isUpgrade || !answer.complete || /connection: close/i.test(answer.head)) break;
        }
      }
    };
    apply();
    let running = true;
    const changes = (async () => {
      while (running) {
        await pause(random.below(4));
        apply();
      }
    })();
    await Promise.all(Array.from({ length: 12 }, () => client(random.fork())));
    running = false;
    await changes;
    await until("nobody is asked", () => proxy.server.upstreamRequestCount === 0, 20_000);
    await until("nobody waits", () => proxy.server.heldCount === 0);
    assert.deepEqual(late, []);
    assert.ok(most > 3, "several were under way at a time");
    for (const status of [101, 200, 502, 503, 504]) assert.ok(statuses.has(status), `${status}`);
    assert.ok(pods.every(({ served }) => served > 20), "each had its share");
    await Promise.all(pods.map(({ backend }) => backend[Symbol.asyncDispose]()));
  });
}

Deno.test("least-requests: a slow endpoint gets fewer requests than fast ones", async () => {
  let slowOnes = 0;
  let fastOnes = 0;
  await using slow = new Backend(async (peer) => {
    while (await peer.request() !== null) {
      slowOnes++;
      await pause(60);
      await peer.send(reply("slow"));
    }
  });
  await using fast = new Backend(async (peer) => {
    while (await peer.request() !== null) {
      fastOnes++;
      await peer.send(reply("fast"));
    }
  });
  using proxy = new TestProxy([], {}, { balance: "least-requests" });
  proxy.server.apply(snapshotOf([slow.port, fast.port]));
  const ask = async () => {
    using client = await Peer.connect(proxy.port);
    for (let i = 0; i < 25; i++) {
      await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  assert.equal(slowOnes + fastOnes, 200);
  assert.ok(slowOnes > 0, "ties are drawn");
  assert.ok(fastOnes > 2 * slowOnes, `${fastOnes} fast, ${slowOnes} slow`);
});
