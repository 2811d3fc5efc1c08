/**
 * Lists of networks on a route. In: requests from an address, over HTTP/1.1, HTTP/2 and gRPC. Out: 403
 * for clients that are not admitted, and nothing forwarded; the upstream's response for others.
 */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { headers, post } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

type Access = Extract<FilterSpec, { kind: "access" }>;

/** Loopback clients are trusted, so the field says who the client is. */
const TRUSTED = { trustedProxies: CidrList.parse("127.0.0.0/8") as CidrList };

function counting(seen: string[]): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      seen.push(asked.head.split(" ")[1]);
      await peer.send(reply("ok"));
    }
  });
}

const CASES: readonly (readonly [
  says: string,
  lists: Omit<Access, "kind">,
  admitted: string[],
  rejected: string[],
])[] = [
  ["allowed networks", { allow: ["10.0.0.0/8", "fd00::/8"] }, ["10.1.2.3", "fd12::1"], [
    "11.0.0.1",
    "fe80::1",
  ]],
  ["denied networks", { deny: ["10.0.0.0/8"] }, ["11.0.0.1", "fd12::1"], ["10.1.2.3"]],
  ["denied networks within allowed ones", { allow: ["10.0.0.0/8"], deny: ["10.1.0.0/16"] }, [
    "10.2.0.1",
  ], ["10.1.0.1", "11.0.0.1"]],
  ["allowed networks of IPv6 alone", { allow: ["::/0"] }, ["2001:db8::1"], ["10.1.2.3"]],
];

for (const [says, lists, admitted, rejected] of CASES) {
  Deno.test(`clients outside of ${says} get 403, and nothing is forwarded`, async () => {
    const seen: string[] = [];
    await using backend = counting(seen);
    using proxy = new TestProxy([], {}, TRUSTED);
    proxy.server.apply(filteredSnapshot(
      { a: { filters: [{ kind: "access", ...lists }] } },
      [upstreamTo(WEB, [backend.port])],
    ));
    for (const [addresses, status] of [[admitted, 200], [rejected, 403]] as const) {
      for (const address of addresses) {
        using client = await Peer.connect(proxy.port);
        const head = `GET /a/1 HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: ${address}\r\n\r\n`;
        // Twice on one connection: a verdict is kept.
        assert.equal(statusOf(await client.ask(head)), status, address);
        assert.equal(statusOf(await client.ask(head)), status, address);
        await using other = await H2Peer.connect(proxy.port);
        const { status: overHttp2 } = await other.ask("/a/2", [["x-forwarded-for", address]]);
        assert.equal(overHttp2, status, address);
      }
    }
    assert.equal(seen.length, 3 * admitted.length);
  });
}

Deno.test("the address that an untrusted client names does not count", async () => {
  const seen: string[] = [];
  await using backend = counting(seen);
  using proxy = new TestProxy([backend.port]);
  proxy.server.apply(filteredSnapshot(
    {
      private: { filters: [{ kind: "access", allow: ["10.0.0.0/8"] }] },
      local: { filters: [{ kind: "access", allow: ["127.0.0.0/8"] }] },
    },
    [upstreamTo(WEB, [backend.port])],
  ));
  using client = await Peer.connect(proxy.port);
  const ask = async (path: string) =>
    statusOf(
      await client.ask(
        `GET ${path} HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 10.0.0.1\r\nX-Real-IP: 10.0.0.1\r\n\r\n`,
      ),
    );
  assert.deepEqual([await ask("/private"), await ask("/local")], [403, 200]);
  assert.deepEqual(seen, ["/local"]);
});

Deno.test("a rejected client does not learn whether a backend is ready", async () => {
  using proxy = new TestProxy([], {}, TRUSTED);
  proxy.server.apply(filteredSnapshot(
    { a: { filters: [{ kind: "access", deny: ["10.0.0.0/8"] }] } },
    [upstreamTo(WEB, [])],
  ));
  using client = await Peer.connect(proxy.port);
  const ask = async (address: string) =>
    statusOf(
      await client.ask(`GET /a HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: ${address}\r\n\r\n`),
    );
  assert.deepEqual([await ask("10.0.0.1"), await ask("11.0.0.1")], [403, 503]);
});

Deno.test("a gRPC call of a rejected client ends with PERMISSION_DENIED", async () => {
  using proxy = new TestProxy([], {}, TRUSTED);
  proxy.server.apply(filteredSnapshot(
    { a: { filters: [{ kind: "access", allow: ["10.0.0.0/8"] }] } },
    [upstreamTo(WEB, [1], "h2c")],
  ));
  await using client = await H2Peer.connect(proxy.port);
  const stream = client.nextStream();
  const fields = [["content-type", "application/grpc"], ["te", "trailers"]] as const;
  await client.send(headers(stream, post("/a/Call", fields), { end: true }));
  const { status, heads } = await client.answer(stream);
  assert.equal(status, 200);
  assert.equal(new Map(heads.at(-1)).get("grpc-status"), "7");
});
