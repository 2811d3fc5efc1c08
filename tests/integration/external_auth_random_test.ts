/**
 * External authentication with random settings, servers and requests. In: a seed. Out: a request reaches
 * the backend if, and only if, its checks admit it, and with no other user than its own.
 */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import type { FilterSpec, Upstream } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";
import { Backend, Peer, refusingPort, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { telemetryOf, TestProxy } from "../support/test_proxy.ts";
import { headerOf } from "../support/wire_message.ts";

type Access = Extract<FilterSpec, { kind: "access" }>;

const ROUTES = 40;
const REQUESTS = 400;
const AUTH = "test/auth:80";
const DEAD = "test/dead:80";
const USERS = ["alice", "bob", "eve", "none"];

/** By user: what the server of auth-url responds with; only 2xx admits. */
const ANSWERS: Readonly<Record<string, string>> = {
  alice: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-User: alice\r\n\r\n",
  bob: "HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\nX-User: bob\r\nSet-Cookie: b=1\r\n\r\nyes",
  eve: "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nX-User: alice\r\n\r\n",
  none: "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nX-User: alice\r\n\r\n",
};
const FAULTS = [
  "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\nX-User: alice\r\n\r\n",
  "HTTP/1.1 500 Error\r\nContent-Length: 0\r\nX-User: alice\r\n\r\n",
  `HTTP/1.1 200 OK\r\nX-Large: ${"x".repeat(200_000)}\r\n\r\n`,
  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n",
  "nonsense\r\n\r\n",
];

interface Case {
  readonly access: Access;
  /** What its server always responds with; null for one that knows users. */
  readonly fault: string | null;
}

function randomCase(random: Random): Case {
  const text = (value: string) => [{ kind: "text" as const, text: value }];
  const fault = random.oneIn(4) ? random.pick(FAULTS) : null;
  const flag = (rarity: number) => random.oneIn(rarity);
  const access: Access = {
    kind: "access",
    ...(flag(3) ? { deny: [random.pick(["10.1.0.0/16", "10.2.0.0/16"])] } : {}),
    ...(flag(3) ? { allow: [random.pick(["10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/8"])] } : {}),
    external: {
      scheme: "http",
      authority: text("auth.test"),
      target: text(fault === null ? "/users" : `/fault/${FAULTS.indexOf(fault)}`),
      namespace: "test",
      upstream: flag(8) ? random.pick([DEAD, "test/missing:80"]) : AUTH,
      ...(flag(3) ? { method: random.pick(["POST", "OPTIONS"]) } : {}),
      ...(flag(3) ? { signin: text("https://login.test/") } : {}),
      responseHeaders: ["x-user"],
      ...(flag(3) ? { alwaysSetCookie: true } : {}),
      ...(flag(2)
        ? {
          cache: {
            key: [{ kind: "variable", name: "cookie_user" }],
            durations: [{ statuses: [200, 202, 401, 403], time: 60_000 }],
          },
        }
        : {}),
    },
    ...(flag(3) ? { satisfy: "any" } : {}),
  };
  return { access, fault };
}

/** Networks that the lists name are 16 or 8 bits long. */
function contains(networks: readonly string[], address: string): boolean {
  return networks.some((network) => {
    const [base, bits] = network.split("/");
    const parts = Number(bits) / 8;
    return base.split(".").slice(0, parts).join() === address.split(".").slice(0, parts).join();
  });
}

/** Kept apart from the code: nginx's access phase, in words of this test. */
function isAdmitted({ access, fault }: Case, address: string, user: string): boolean {
  const { deny = [], allow, external, satisfy } = access;
  const isDenied = contains(deny, address);
  const byAuth = external!.upstream === AUTH && fault === null && ["alice", "bob"].includes(user);
  if (satisfy === "any") {
    return (allow !== undefined && !isDenied && contains(allow, address)) || byAuth;
  }
  return !isDenied && (allow === undefined || contains(allow, address)) && byAuth;
}

Deno.test("no random request passes external authentication that its checks do not admit", async () => {
  const random = new Random(25);
  const cases = Array.from({ length: ROUTES }, () => randomCase(random.fork()));
  const users: (string | null)[] = [];
  await using web = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      users.push(headerOf(asked.head, "x-user"));
      await peer.send(reply("ok"));
    }
  });
  await using auth = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      const fault = /^\S+ \/fault\/(\d)/.exec(asked.head)?.[1];
      const user = /\r\ncookie: user=(\w+)/i.exec(asked.head)?.[1] ?? "none";
      await peer.send(fault === undefined ? ANSWERS[user] : FAULTS[Number(fault)]);
    }
  });
  const upstreams: Upstream[] = [
    upstreamTo(AUTH, [auth.port]),
    upstreamTo(DEAD, [refusingPort()]),
    upstreamTo(WEB, [web.port]),
  ];
  const routes = Object.fromEntries(cases.map(({ access }, i) => [`r${i}`, { filters: [access] }]));
  const snapshot = filteredSnapshot(routes, upstreams);
  using proxy = new TestProxy([], { tries: 1 }, {
    trustedProxies: CidrList.parse("127.0.0.1") as CidrList,
    telemetry: telemetryOf(snapshot),
  });
  proxy.server.apply(snapshot);
  await using http2 = await H2Peer.connect(proxy.port);
  let admitted = 0;
  for (let i = 0; i < REQUESTS; i++) {
    const index = random.below(ROUTES);
    const address = random.pick(["10.1.0.1", "10.2.0.1", "11.0.0.1", "12.0.0.1"]);
    const user = random.pick(USERS);
    const spoofed = random.pick(["x-user", "x.user", "x-user"]);
    const fields = [
      ["x-forwarded-for", address],
      [spoofed, "root"],
      ...(user === "none" ? [] : [["cookie", `user=${user}`]]),
    ] as [string, string][];
    users.length = 0;
    let status: number;
    if (random.oneIn(2)) status = (await http2.ask(`/r${index}/x`, fields)).status;
    else {
      using client = await Peer.connect(proxy.port);
      const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      status = statusOf(
        await client.ask(`GET /r${index}/x HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`),
      );
    }
    const says = `${i}: ${JSON.stringify(cases[index])} ${address} ${user} ${status}`;
    const isExpected = isAdmitted(cases[index], address, user);
    assert.equal(status === 200, isExpected, says);
    assert.equal(users.length, isExpected ? 1 : 0, says);
    if (!isExpected) continue;
    admitted++;
    assert.ok(users[0] === null || users[0] === user, says);
  }
  assert.ok(admitted > REQUESTS / 20 && admitted < REQUESTS / 2, String(admitted));
});
