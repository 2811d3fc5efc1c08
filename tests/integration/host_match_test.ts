/** A request finds its host whatever its case, and however many hosts there are. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

/** `h0.example.com`, `h1.example.com` …; even ones to the first port, odd ones to the second. */
function hostsTo(ports: readonly number[], count: number): Snapshot {
  const empty = snapshotOf([]);
  const [route] = empty.routes;
  return {
    ...empty,
    upstreams: ports.map((port, i) => ({
      id: `test/${i}:80`,
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
    })),
    routes: Array.from({ length: count }, (_, i) => ({
      ...route,
      id: `h${i}.example.com Prefix /`,
      host: `h${i}.example.com`,
      action: { kind: "forward", backends: [{ upstream: `test/${i % ports.length}:80` }] },
    })),
  };
}

function named(name: string): Backend {
  return new Backend(async (peer) => {
    while (await peer.request() !== null) await peer.send(reply(name));
  });
}

for (const size of [1, 100, 101, 10_000]) {
  Deno.test(`one of ${size} hosts is found in any case, and no other`, async () => {
    await using even = named("even");
    await using odd = named("odd");
    using proxy = new TestProxy([]);
    proxy.server.apply(hostsTo([even.port, odd.port], size));
    using client = await Peer.connect(proxy.port);
    const random = new Random(size);
    for (let i = 0; i < 200; i++) {
      const at = i < 2 ? size - 1 + i : random.below(size * 2);
      const host = `h${at}.example.com`.replace(
        /[a-z]/g,
        (letter) => random.oneIn(2) ? letter.toUpperCase() : letter,
      );
      const head = random.oneIn(4)
        ? `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`
        : `GET / HTTP/1.1\r\nHost: ${host}${random.pick(["", ".", ":80"])}\r\n\r\n`;
      const answer = await client.ask(head);
      if (at < size) assert.equal(answer.body, at % 2 === 0 ? "even" : "odd", head);
      else assert.equal(statusOf(answer), 404, head);
    }
  });
}
