/**
 * What filters add to one request reaches no other: random chains, over connections that are kept, by
 * HTTP/1.0 with and without Host, HTTP/1.1 and HTTP/2, from trusted proxies and others.
 */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, type RouteSpec, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

const CHAINS = 10_000;
/** Connections from clients, each kept for all of its requests. */
const CLIENTS = 8;

const NAMES = ["x-a", "x-b", "x-identity", "x-forwarded-host", "x-real-ip"];

type Line = readonly [name: string, value: string];
type HeaderChange = Extract<FilterSpec, { kind: "request-headers" | "response-headers" }>;

function randomLines(random: Random, tag: string): { name: string; value: string }[] {
  return Array.from({ length: random.below(3) }, (_, i) => {
    return { name: random.pick(NAMES), value: `${tag}-${i}` };
  });
}

/** None at all for every third route. */
function randomChain(random: Random, tag: string): HeaderChange[] {
  if (random.oneIn(3)) return [];
  return Array.from({ length: random.between(1, 4) }, (_, i): HeaderChange => {
    return {
      kind: random.oneIn(4) ? "response-headers" : "request-headers",
      set: randomLines(random, `${tag}-${i}-set`),
      add: randomLines(random, `${tag}-${i}-add`),
      remove: random.oneIn(3) ? [random.pick(NAMES)] : [],
    };
  });
}

/** What the backend is to see of `NAMES`, applied one filter after another. */
function changed(lines: readonly Line[], chain: readonly HeaderChange[]): Line[] {
  let result = [...lines];
  for (const { kind, set = [], add = [], remove = [] } of chain) {
    if (kind !== "request-headers") continue;
    const gone = new Set([...remove, ...set.map(({ name }) => name)]);
    result = result.filter(([name]) => !gone.has(name));
    for (const { name, value } of [...set, ...add]) result.push([name, value]);
  }
  return result;
}

function sorted(lines: readonly Line[]): string[] {
  return NAMES.flatMap((name) =>
    lines.filter(([one]) => one === name).map(([, value]) => `${name}: ${value}`)
  );
}

function seen(head: string): Line[] {
  return head.split("\r\n").slice(1).flatMap((line): Line[] => {
    const colon = line.indexOf(": ");
    const name = line.slice(0, colon).toLowerCase();
    return NAMES.includes(name) ? [[name, line.slice(colon + 2)]] : [];
  });
}

for (const isTrusted of [false, true]) {
  Deno.test(`fields that filters add to a request reach no other, from ${isTrusted ? "a trusted proxy" : "clients"}`, async () => {
    const random = new Random(isTrusted ? 2 : 1);
    const chains = Array.from({ length: CHAINS / 2 }, (_, i) => randomChain(random, `r${i}`));
    const routes: Record<string, RouteSpec> = {};
    for (const [i, filters] of chains.entries()) {
      routes[`r${i}`] = filters.length === 0 ? {} : { filters };
    }
    await using backend = new Backend(async (peer) => {
      for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
        await peer.send(reply(asked.head));
      }
    });
    const trustedProxies = isTrusted ? CidrList.parse("127.0.0.0/8") as CidrList : CidrList.empty;
    using proxy = new TestProxy([], {}, { trustedProxies });
    proxy.server.apply(filteredSnapshot(routes, [upstreamTo(WEB, [backend.port])]));
    const old = await Promise.all(Array.from({ length: CLIENTS }, () => Peer.connect(proxy.port)));
    await using http2 = await H2Peer.connect(proxy.port);
    for (const [i, chain] of chains.entries()) {
      const path = `/r${i}/x`;
      const sent: Line[] = random.oneIn(2) ? [["x-a", `client-${i}`]] : [];
      const kind = random.below(4);
      let authority = random.pick(["a.test", "b.test:8080", "a-much-longer-name.test"]);
      let body: string;
      if (kind === 0) {
        const answer = await http2.ask(path, sent);
        assert.equal(answer.status, 200);
        authority = "a.test";
        body = answer.body;
      } else {
        if (kind === 1) authority = "";
        const version = kind === 3 ? "1.1" : "1.0\r\nConnection: keep-alive";
        const host = authority === "" ? "" : `Host: ${authority}\r\n`;
        const lines = sent.map(([name, value]) => `${name}: ${value}\r\n`).join("");
        const client = random.pick(old);
        const answer = await client.ask(`GET ${path} HTTP/${version}\r\n${host}${lines}\r\n`);
        assert.equal(statusOf(answer), 200, path);
        body = answer.body;
      }
      const own: Line[] = [["x-real-ip", "127.0.0.1"]];
      if (authority !== "") own.push(["x-forwarded-host", authority]);
      const wanted = sorted(changed([...sent, ...own], chain));
      assert.deepEqual(sorted(seen(body)), wanted, `${path} ${JSON.stringify(chain)}`);
    }
    for (const client of old) client.close();
  });
}
