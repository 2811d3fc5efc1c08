import { deepEqual, equal } from "node:assert/strict";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { eventually } from "../../tests/cluster/support/condition.ts";
import { StreamClient } from "../../tests/support/stream_client.ts";
import { authority, judge, startStream } from "../../tests/support/stream_server_scene.ts";
import { formatAddress } from "../../shared/net/address.ts";
import { silentLogger } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import { AckRelay } from "./ack_relay.ts";
import type { ProxyAck } from "./proxy_acks.ts";
import { RelayedAcks } from "./relayed_acks.ts";

const HASH = "a".repeat(64);

function ack(podUid: string, fields: Partial<ProxyAck> = {}): ProxyAck {
  const version = { epoch: "e", seen: { Gateway: "7" } };
  return { podUid, peer: "10.0.0.1", version, hash: HASH, obstacles: [], ...fields };
}

/** A replica to which others may tell; tokens of `controller` are good. */
async function startLeader(options: { isLeading?: () => boolean; silence?: number } = {}) {
  let news = 0;
  const acks = new RelayedAcks({
    log: silentLogger,
    onNews: () => news++,
    silence: options.silence,
  });
  const scene = await startStream({
    relays: {
      acks,
      review: (token) => Promise.resolve(judge(token.reveal())),
      isLeading: options.isLeading ?? (() => true),
    },
  });
  return {
    acks,
    scene,
    address: formatAddress(scene.server.address),
    get news() {
      return news;
    },
    uids: () => acks.acks().map(({ podUid }) => podUid).sort(),
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

/** Another replica, and what its proxies have. */
function startRelay(
  options: { leader: () => string | null; token?: string | null; ca?: string },
) {
  const proxies = new Map<object, ProxyAck>();
  const { leader, token = "controller", ca = authority.certificate } = options;
  const relay = new AckRelay({
    leader,
    acks: () => proxies,
    token: () => Promise.resolve(token === null ? null : new Redacted(token)),
    trust: () => Promise.resolve(ca),
    serverName: "localhost",
    log: silentLogger,
  });
  relay.start();
  return { relay, proxies, [Symbol.dispose]: () => relay.stop() };
}

Deno.test("the leader knows what proxies of another replica have, as it changes", async () => {
  await using leader = await startLeader();
  using replica = startRelay({ leader: () => leader.address });
  const [one, two] = [{}, {}];
  replica.proxies.set(one, ack("one"));
  await eventually("the first", () => leader.uids().join() === "one");
  const obstacles = [{ socket: "10000", reason: "EADDRINUSE" }];
  replica.proxies.set(one, ack("one", { hash: null, obstacles }));
  replica.proxies.set(two, ack("two", { podUid: null, version: null }));
  replica.relay.changed();
  await eventually("both", () => leader.acks.acks().length === 2);
  deepEqual(leader.acks.acks(), [
    ack("one", { hash: null, obstacles }),
    ack("two", { podUid: null, version: null }),
  ]);
  replica.proxies.delete(one);
  replica.relay.changed();
  await eventually("the second alone", () => leader.acks.acks().length === 1);
});

Deno.test("very many proxies are relayed", async () => {
  await using leader = await startLeader();
  using replica = startRelay({ leader: () => leader.address });
  for (let i = 0; i < 1000; i++) replica.proxies.set({}, ack(`proxy-${i}`));
  await eventually("all", () => leader.acks.acks().length === 1000);
});

Deno.test("when a replica has gone, nothing is known of its proxies", async () => {
  await using leader = await startLeader();
  {
    using replica = startRelay({ leader: () => leader.address });
    using other = startRelay({ leader: () => leader.address });
    replica.proxies.set({}, ack("one"));
    other.proxies.set({}, ack("two"));
    await eventually("both", () => leader.uids().join() === "one,two");
    other.relay.stop();
    await eventually("the first alone", () => leader.uids().join() === "one");
  }
  const { news } = leader;
  await eventually("none", () => leader.uids().length === 0);
  equal(leader.news > 0 && news > 0, true);
});

Deno.test("a replica relays to the new leader when the leader changes", async () => {
  await using first = await startLeader();
  await using second = await startLeader();
  let address: string | null = null;
  using replica = startRelay({ leader: () => address });
  replica.proxies.set({}, ack("one"));
  address = first.address;
  await eventually("the first leader", () => first.uids().join() === "one");
  address = second.address;
  await eventually("the second leader", () => second.uids().join() === "one");
  await eventually("no longer the first", () => first.uids().length === 0);
  equal(replica.relay.leader, second.address);
});

Deno.test("a replica that does not lead refuses relays, which are retried", async () => {
  let isLeading = false;
  await using leader = await startLeader({ isLeading: () => isLeading });
  using replica = startRelay({ leader: () => leader.address });
  replica.proxies.set({}, ack("one"));
  await eventually(
    "a refusal",
    async () =>
      (await leader.scene.metrics.text()).includes(
        'pingress_controller_stream_refusals_total{status="503"}',
      ),
  );
  deepEqual(leader.uids(), []);
  isLeading = true;
  await eventually("the proxy", () => leader.uids().join() === "one");
  leader.acks.stop();
  equal(leader.uids().length, 0);
  await eventually("the proxy again", () => leader.uids().join() === "one");
});

Deno.test("a replica that has lost the stream's CA, or has no token, tells nothing", async () => {
  await using leader = await startLeader();
  const { certificate } = await CertificateAuthority.create("another");
  let looks = 0;
  using _stranger = startRelay({ leader: () => leader.address, ca: certificate });
  using _nobody = startRelay({
    leader: () => {
      looks++;
      return leader.address;
    },
    token: null,
  });
  await eventually("several looks", () => looks > 8);
  deepEqual(leader.uids(), []);
});

const REFUSED = [
  ["a token that is not known", { token: "bad" }, 401],
  ["a token of another account", { token: "foreign" }, 403],
  ["no token", {}, 401],
  ["a token that cannot be checked now", { token: "outage" }, 503],
  ["another method", { token: "controller", method: "PUT" }, 405],
] as const;

for (const [what, options, status] of REFUSED) {
  Deno.test(`a relay with ${what} gets ${status}`, async () => {
    await using leader = await startLeader();
    const { port } = leader.scene.server.address;
    await using client = new StreamClient({
      ...{ port, caPem: authority.certificate, path: "/v1/acks", hello: null },
      ...options,
    });
    equal(await client.answered(), status);
  });
}

Deno.test("without Gateway API, the path of relays does not exist", async () => {
  await using scene = await startStream();
  await using client = scene.connect("controller", { path: "/v1/acks", hello: null });
  equal(await client.answered(), 404);
});

const LINES = [
  "no JSON\n",
  "[]\n",
  '{"id":1}\n',
  '{"kind":"ack","id":"1"}\n',
  '{"kind":"ack","id":1,"ack":{}}\n',
  '{"kind":"ack","id":1,"ack":{"podUid":1,"peer":"a","version":null,"hash":null,"obstacles":[]}}\n',
  '{"kind":"ack","id":1,"ack":{"podUid":"a","peer":"a","version":7,"hash":null,"obstacles":[]}}\n',
  `${"x".repeat(70_000)}`,
];

for (const line of LINES) {
  Deno.test(`a relay ends with a line that no replica writes: ${line.slice(0, 60).trim()}`, async () => {
    await using leader = await startLeader();
    const { port } = leader.scene.server.address;
    await using client = new StreamClient({
      ...{ port, token: "controller", caPem: authority.certificate, path: "/v1/acks", hello: null },
    });
    equal(await client.answered(), 200);
    client.report({ kind: "ack", id: 1, ack: ack("one") });
    await eventually("the proxy", () => leader.uids().join() === "one");
    client.report(line);
    await client.ended();
    deepEqual(leader.uids(), []);
  });
}

Deno.test("a message of a newer replica is ignored", async () => {
  await using leader = await startLeader();
  const { port } = leader.scene.server.address;
  await using client = new StreamClient({
    ...{ port, token: "controller", caPem: authority.certificate, path: "/v1/acks", hello: null },
  });
  equal(await client.answered(), 200);
  client.report({ kind: "other", id: 1 });
  client.report({ kind: "ack", id: 1, ack: { ...ack("one"), more: 1 }, more: 2 });
  await eventually("the proxy", () => leader.uids().join() === "one");
});

Deno.test("a relay ends with its token, and is opened again", async () => {
  await using leader = await startLeader();
  using replica = startRelay({ leader: () => leader.address, token: "controller/500" });
  replica.proxies.set({}, ack("one"));
  for (let i = 0; i < 2; i++) {
    await eventually("the proxy", () => leader.uids().join() === "one");
    await eventually("its end", () => leader.uids().length === 0);
  }
});

Deno.test("a relay that falls silent ends, and its proxies count as unknown", async () => {
  await using leader = await startLeader({ silence: 300 });
  const { port } = leader.scene.server.address;
  await using client = new StreamClient({
    ...{ port, token: "controller", caPem: authority.certificate, path: "/v1/acks", hello: null },
  });
  equal(await client.answered(), 200);
  client.report({ kind: "ack", id: 1, ack: ack("one") });
  await eventually("the proxy", () => leader.uids().join() === "one");
  await client.ended();
  deepEqual(leader.uids(), []);
});
