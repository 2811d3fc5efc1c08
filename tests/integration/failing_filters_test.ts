/**
 * A filter that decides fails closed: whatever its request hooks throw, the client gets 500 and no
 * endpoint gets the request, over HTTP/1.1 and HTTP/2.
 */
import assert from "node:assert/strict";
import type { Filter } from "../../proxy/filters/filter.ts";
import { MAKERS } from "../../proxy/filters/registry.ts";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

type Ask = (port: number, path: string) => Promise<number>;

const byHttp1: Ask = async (port, path) => {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`));
};

const byHttp1Body: Ask = async (port, path) => {
  using client = await Peer.connect(port);
  const head = `POST ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\n`;
  return statusOf(await client.ask(`${head}abc`));
};

const byHttp2: Ask = async (port, path) => {
  await using client = await H2Peer.connect(port);
  return (await client.ask(path)).status;
};

const CLIENTS: readonly (readonly [says: string, ask: Ask])[] = [
  ["HTTP/1.1", byHttp1],
  ["HTTP/1.1 with a body", byHttp1Body],
  ["HTTP/2", byHttp2],
];

const FAULT = new Error("the decision failed");

const FAULTS: readonly (readonly [says: string, make: () => Filter])[] = [
  ["a request hook throws", () => ({
    request: () => {
      throw FAULT;
    },
  })],
  ["a request hook rejects", () => ({ request: () => Promise.reject(FAULT) })],
  ["a request hook rejects after a turn of the event loop", () => ({
    request: () => new Promise((_, reject) => setTimeout(reject, 0, FAULT)),
  })],
  ["a request hook throws what is not an Error", () => ({
    request: () => {
      throw null;
    },
  })],
  ["the filter cannot be made", () => {
    throw FAULT;
  }],
];

/** Made by `make` in place of the registry's; its position in the order stays. */
const DECIDES: FilterSpec = { kind: "request-headers" };

for (const [says, make] of FAULTS) {
  for (const [client, ask] of CLIENTS) {
    Deno.test(`${says}: 500 for ${client}, and nothing is forwarded`, async () => {
      const forwarded: string[] = [];
      await using backend = new Backend(async (peer) => {
        for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
          forwarded.push(asked.head.split(" ")[1]);
          await peer.send(reply("ok"));
        }
      });
      const filterMakers = { ...MAKERS, "request-headers": make };
      using proxy = new TestProxy([], {}, { filterMakers });
      const later: FilterSpec = { kind: "response-headers", set: [{ name: "x-a", value: "b" }] };
      proxy.server.apply(filteredSnapshot(
        { closed: { filters: [DECIDES, later] }, open: {} },
        [upstreamTo(WEB, [backend.port])],
      ));
      assert.equal(await ask(proxy.port, "/closed"), 500);
      assert.equal(await ask(proxy.port, "/closed/again"), 500);
      // The same upstream serves others, so it was reachable.
      assert.equal(await ask(proxy.port, "/open"), 200);
      assert.deepEqual(forwarded, ["/open"]);
    });
  }
}
