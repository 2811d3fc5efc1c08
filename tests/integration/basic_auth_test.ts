/**
 * Basic authentication of a route. In: requests with and without logins, over HTTP/1.1, HTTP/2 and
 * gRPC. Out: 401 with a challenge and nothing forwarded, unless the login is right; what a change of
 * the users changes. `login_flood_test.ts` has floods of wrong ones.
 */
import assert from "node:assert/strict";
import { credentialsOf } from "../../shared/credentials/credentials.ts";
import type { Credentials, FilterSpec, Snapshot } from "../../shared/snapshot/types.ts";
import type { PasswordCheck, PasswordVerdict } from "../../proxy/filters/passwords/messages.ts";
import { Backend, Peer, reply } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { headers, post } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { TestProxy } from "../support/test_proxy.ts";

const ID = "test/users auth-file";
const APR1 = "ann:$apr1$saltsalt$HIDXe7D36X22w1CH4M1cQ.";
const PLAIN = "bob:{PLAIN}secret\nbr\xc3\xb6:{PLAIN}p\xc3\xa4ss:comment\n";
const FILTERS: readonly FilterSpec[] = [
  { kind: "access", basic: { credentials: ID, realm: 'Staff "only"' } },
];

function snapshotWith(ports: readonly number[], credentials?: readonly Credentials[]): Snapshot {
  const snapshot = filteredSnapshot({ a: { filters: FILTERS } }, [upstreamTo(WEB, ports)]);
  return credentials === undefined ? snapshot : { ...snapshot, credentials };
}

function usersOf(file: string, revision = "1"): Credentials {
  return credentialsOf(ID, revision, file);
}

/** @param text latin1. */
function login(text: string): string {
  return `Basic ${btoa(text)}`;
}

function counting(seen: string[]): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      seen.push(asked.head);
      await peer.send(reply("ok"));
    }
  });
}

async function askOver1(client: Peer, authorization: readonly string[]): Promise<string> {
  const lines = authorization.map((value) => `Authorization: ${value}\r\n`).join("");
  const { head } = await client.ask(`GET /a HTTP/1.1\r\nHost: a.test\r\n${lines}\r\n`);
  return head;
}

const RIGHT = [login("ann:open sesame"), login("bob:secret"), login("br\xc3\xb6:p\xc3\xa4ss")];
const WRONG: readonly (readonly string[])[] = [
  [],
  [""],
  ["Basic"],
  ["Basic !!!"],
  ["Basic YW5u"],
  [`Bearer ${btoa("bob:secret")}`],
  [login("ann:open sesam")],
  [login("ann:")],
  [login(":secret")],
  [login("eve:open sesame")],
  [login("bob:secret\n")],
  [login("BOB:secret")],
  [login(`bob:${"x".repeat(1_400)}`)],
  [`Basic ${btoa(`bob:${"x".repeat(8_000)}`)}`],
  [login("bob:secret"), login("bob:secret")],
  [login("eve:x"), login("bob:secret")],
];

Deno.test("a right login is forwarded without it, and any other gets 401 with the realm", async () => {
  const seen: string[] = [];
  await using backend = counting(seen);
  using proxy = new TestProxy([]);
  proxy.server.apply(snapshotWith([backend.port], [usersOf(APR1 + "\n" + PLAIN)]));
  using client = await Peer.connect(proxy.port);
  await using other = await H2Peer.connect(proxy.port);
  for (let round = 0; round < 2; round++) {
    for (const value of RIGHT) {
      assert.match(await askOver1(client, [value]), /^HTTP\/1.1 200 /);
      assert.equal((await other.ask("/a", [["authorization", value]])).status, 200);
    }
    for (const values of WRONG) {
      const forwarded = seen.length;
      const head = await askOver1(client, values);
      assert.match(head, /^HTTP\/1.1 401 /, values.join());
      assert.match(head, /\r\nWWW-Authenticate: Basic realm="Staff \\"only\\""\r\n/);
      const answer = await other.ask(
        "/a",
        values.map((value) => ["authorization", value] as const),
      );
      assert.equal(answer.status, 401, values.join());
      assert.equal(answer.field("www-authenticate"), 'Basic realm="Staff \\"only\\""');
      assert.equal(seen.length, forwarded);
    }
  }
  assert.equal(seen.length, 4 * RIGHT.length);
  for (const head of seen) assert.doesNotMatch(head, /authorization/i);
});

Deno.test("a gRPC call without a login ends with UNAUTHENTICATED", async () => {
  using proxy = new TestProxy([]);
  proxy.server.apply({
    ...filteredSnapshot({ a: { filters: FILTERS } }, [upstreamTo(WEB, [1], "h2c")]),
    credentials: [usersOf(PLAIN)],
  });
  await using client = await H2Peer.connect(proxy.port);
  const stream = client.nextStream();
  const fields = [["content-type", "application/grpc"], ["te", "trailers"]] as const;
  await client.send(headers(stream, post("/a/Call", fields), { end: true }));
  const { status, heads } = await client.answer(stream);
  assert.equal(status, 200);
  assert.equal(new Map(heads.at(-1)).get("grpc-status"), "16");
});

Deno.test("credentials that a snapshot lacks give 500, and missing ones 503, with any login", async () => {
  await using backend = counting([]);
  using proxy = new TestProxy([]);
  using client = await Peer.connect(proxy.port);
  const file = { id: ID, users: { kind: "file", path: "x" } } as const;
  const missing = { id: ID, users: { kind: "missing" } } as const;
  const cases: readonly [readonly Credentials[] | undefined, number][] = [
    [[usersOf(PLAIN)], 200],
    [undefined, 500],
    [[usersOf(PLAIN)], 200],
    [[missing], 503],
    [[file], 503],
    [[usersOf(PLAIN)], 200],
    [[], 500],
  ];
  for (const [credentials, status] of cases) {
    proxy.server.apply(snapshotWith([backend.port], credentials));
    assert.match(await askOver1(client, [login("bob:secret")]), new RegExp(`^HTTP/1.1 ${status} `));
    const without = status === 200 ? 401 : status;
    assert.match(await askOver1(client, []), new RegExp(`^HTTP/1.1 ${without} `));
  }
});

Deno.test("users that cannot be read close the route, also for clients that another check admits", async () => {
  const seen: string[] = [];
  await using backend = counting(seen);
  using proxy = new TestProxy([]);
  using client = await Peer.connect(proxy.port);
  const basic = { credentials: ID, realm: "" };
  const filters: readonly FilterSpec[] = [
    { kind: "access", allow: ["127.0.0.0/8", "::1/128"], basic, satisfy: "any" },
  ];
  const missing = { id: ID, users: { kind: "missing" } } as const;
  for (
    const [credentials, status] of [
      [[usersOf(PLAIN)], 200],
      [[missing], 503],
      [[], 500],
      [[usersOf(PLAIN)], 200],
    ] as const
  ) {
    const snapshot = filteredSnapshot({ a: { filters } }, [upstreamTo(WEB, [backend.port])]);
    proxy.server.apply({ ...snapshot, credentials });
    assert.match(await askOver1(client, []), new RegExp(`^HTTP/1.1 ${status} `));
  }
  assert.equal(seen.length, 2);
});

Deno.test("a path that needs no login is closed while the users of its Ingress cannot be read", async () => {
  await using backend = counting([]);
  using proxy = new TestProxy([]);
  using client = await Peer.connect(proxy.port);
  await using other = await H2Peer.connect(proxy.port);
  const missing = { id: ID, users: { kind: "missing" } } as const;
  const networks = ["127.0.0.0/8", "::1/128"];
  const open = { kind: "access", requiredUsers: ID } as const;
  for (
    const [filter, whenThere] of [
      [open, 200],
      [{ ...open, satisfy: "any" }, 200],
      [{ ...open, allow: networks }, 200],
      [{ ...open, allow: networks, satisfy: "any" }, 200],
      [{ ...open, deny: networks }, 403],
      [{ ...open, deny: networks, satisfy: "any" }, 403],
      [{ ...open, allow: ["10.0.0.0/8"], satisfy: "any" }, 403],
    ] as readonly [FilterSpec, number][]
  ) {
    const snapshot = filteredSnapshot({ a: { filters: [filter] } }, [
      upstreamTo(WEB, [backend.port]),
    ]);
    const isAny = filter.kind === "access" && filter.satisfy === "any";
    for (
      const [credentials, status] of [
        [[usersOf(PLAIN)], whenThere],
        [[missing], whenThere === 200 || isAny ? 503 : whenThere],
        [[], whenThere === 200 || isAny ? 500 : whenThere],
        [[usersOf(PLAIN)], whenThere],
      ] as const
    ) {
      proxy.server.apply({ ...snapshot, credentials });
      const what = JSON.stringify([filter, credentials]);
      for (const values of [[], [login("eve:x")], [login("bob:secret")]]) {
        assert.match(await askOver1(client, values), new RegExp(`^HTTP/1.1 ${status} `), what);
      }
      assert.equal((await other.ask("/a", [])).status, status, what);
    }
  }
});

Deno.test("a path that needs no login passes on the logins of clients", async () => {
  const seen: string[] = [];
  await using backend = counting(seen);
  using proxy = new TestProxy([]);
  using client = await Peer.connect(proxy.port);
  const filters: readonly FilterSpec[] = [{ kind: "access", requiredUsers: ID }];
  const snapshot = filteredSnapshot({ a: { filters } }, [upstreamTo(WEB, [backend.port])]);
  proxy.server.apply({ ...snapshot, credentials: [usersOf(PLAIN)] });
  await askOver1(client, [login("eve:x")]);
  assert.match(seen[0], /\r\nAuthorization: Basic /i);
});

Deno.test("a changed Secret counts for connections that have been admitted, too", async () => {
  await using backend = counting([]);
  using proxy = new TestProxy([]);
  using client = await Peer.connect(proxy.port);
  const ask = async () => (await askOver1(client, [login("bob:secret")])).split(" ")[1];
  const files = [
    "bob:{PLAIN}secret\n",
    "bob:{PLAIN}other\n",
    "ann:{PLAIN}x\n",
    "bob:{PLAIN}secret\n",
  ];
  const statuses: string[] = [];
  for (const [i, file] of files.entries()) {
    proxy.server.apply(snapshotWith([backend.port], [usersOf(file, `${i}`)]));
    statuses.push(await ask(), await ask());
  }
  assert.deepEqual(statuses, ["200", "200", "401", "401", "401", "401", "200", "200"]);
});

Deno.test("a verifier that fails or is busy lets nobody in, and known logins need none", async () => {
  await using backend = counting([]);
  let next: () => Promise<PasswordVerdict> = () => Promise.resolve("right");
  const checks: PasswordCheck[] = [];
  const verifyPassword = (check: PasswordCheck) => {
    checks.push(check);
    return next();
  };
  using proxy = new TestProxy([], {}, { verifyPassword });
  proxy.server.apply(snapshotWith([backend.port], [usersOf(PLAIN)]));
  const ask = async (text: string) => {
    using client = await Peer.connect(proxy.port);
    return (await askOver1(client, [login(text)]));
  };
  assert.match(await ask("bob:secret"), /^HTTP\/1.1 200 /);
  next = () => Promise.resolve("busy");
  assert.match(await ask("bob:secret"), /^HTTP\/1.1 200 /);
  assert.equal(checks.length, 1);
  const busy = await ask("bob:other");
  assert.match(busy, /^HTTP\/1.1 503 /);
  assert.match(busy, /\r\nRetry-After: /);
  next = () => Promise.reject(new Error("gone"));
  assert.match(await ask("bob:other"), /^HTTP\/1.1 500 /);
  // A user that there is not costs a check, and is not admitted by what it says.
  next = () => Promise.resolve("right");
  const before = checks.length;
  assert.match(await ask("eve:secret"), /^HTTP\/1.1 401 /);
  assert.equal(checks.length, before + 1);
});

Deno.test("logins that find no room have an error code of their own, not that of a busy proxy", async () => {
  const verifyPassword = () => Promise.resolve<PasswordVerdict>("busy");
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const log = { debug: () => {}, info: () => {}, warn, error: warn };
  using observed = new ObservedProxy([], { server: { verifyPassword, log } });
  observed.apply(snapshotWith([], [usersOf(PLAIN)]));
  using client = await Peer.connect(observed.port);
  const { head, body } = await client.ask(
    `GET /a HTTP/1.1\r\nHost: a.test\r\nAuthorization: ${login("bob:other")}\r\n\r\n`,
  );
  assert.match(head, /^HTTP\/1.1 503 /);
  assert.match(body, /Too many logins are being verified/);
  const errors = [...await observed.series()]
    .filter(([key, count]) => key.startsWith("pingress_request_errors_total{") && count > 0);
  assert.deepEqual(errors, [['pingress_request_errors_total{code="logins_busy"}', 1]]);
  assert.deepEqual(warnings, [], "a flood of logins is none of warnings");
});
