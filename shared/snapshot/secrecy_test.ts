/**
 * Keys and passwords in snapshots, wherever they were put: none shows in a serialisation, in a problem,
 * in an id by content or in the label of a hash.
 */
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { Random } from "../../tests/fuzz/random.ts";
import { secretFileName } from "../credentials/credentials.ts";
import { Content } from "../stream/content.ts";
import { ReceivedContent } from "../stream/received.ts";
import { readUpdate } from "../stream/messages.ts";
import { wholeLine } from "../stream/change.ts";
import { contentId } from "./node_writer.ts";
import { parseSnapshot } from "./parse.ts";
import { FILTER_SET } from "./schema.ts";
import { serialiseSnapshot } from "./serialise.ts";
import type { Snapshot } from "./types.ts";

const MARK = "MIIsecret";
const KEY = `-----BEGIN PRIVATE KEY-----\n${MARK}\n-----END PRIVATE KEY-----\n`;
const ORIGIN = { kind: "Ingress", namespace: "a", name: "web", field: "spec" };

const WHOLE = {
  format: 2,
  version: { epoch: "e", seen: { Ingress: "1" } },
  listeners: [{
    id: "l",
    port: 80,
    socket: "http",
    protocol: "HTTP",
    wildcards: "suffix",
    fallThrough: true,
    origin: ORIGIN,
  }],
  hostSettings: [{ id: "*.a.test", httpsRedirect: false }],
  routes: [{
    id: "r",
    listeners: ["l"],
    host: "a.test",
    match: {
      path: { type: "Prefix", value: "/" },
      method: "GET",
      headers: [{ name: "x", type: "Exact", value: "1" }],
      query: [{ name: "x", type: "Regex", value: "1" }],
    },
    action: {
      kind: "forward",
      backends: [{ upstream: "u", weight: 1, filterSet: "f", policy: "p" }],
    },
    filterSet: "f",
    policy: "p",
    httpsRedirect: true,
    origin: ORIGIN,
  }],
  defaultAction: { kind: "reply", status: 503, reason: "gone", closed: true },
  filterSets: [{ id: "f", filters: [{ kind: "request-headers", remove: ["x"] }] }],
  policies: [{
    id: "p",
    timeouts: { connect: 1, send: 1, tunnelIdle: 1 },
    tries: 1,
    retry: { on: ["error", "503"], timeout: 1, bodyBytes: 1 },
    bodyLimit: 1,
    requestBuffer: 1,
    upstreamKeepAlive: false,
    accessLog: false,
    tracing: { enabled: false, name: "x", trust: true },
  }],
  upstreams: [{
    id: "u",
    protocol: "https",
    addresses: { kind: "endpoints", endpoints: [{ address: "10.0.0.1", port: 80, hints: ["z"] }] },
    tls: {
      serverName: "u.test",
      sni: false,
      ca: { kind: "pem", pem: "x" },
      clientCertificate: "c",
      verifyDepth: 1,
      version: "TLSv1.3",
    },
    balance: "round-robin",
    grpcWeb: true,
  }],
  credentials: [{
    id: "a/users auth-file",
    users: { kind: "secret", text: `#pingress a/users auth-file 1\nann:{PLAIN}${MARK}\n` },
  }],
  certificates: [{
    id: "c",
    hosts: ["a.test"],
    plain: ["a.test"],
    chain: { kind: "pem", pem: "x" },
    key: { kind: "secret", pem: KEY },
    origin: ORIGIN,
  }],
  defaultCertificate: "c",
  loopMark: "mark",
  denied: ["10.0.0.1"],
  trustedProxies: ["10.0.0.1"],
  blockedClients: {
    networks: ["10.0.0.1"],
    userAgents: [{ type: "Exact", value: "bot" }],
    referers: [{ type: "Regex", value: "x" }],
  },
};

/** Paths of all fields and elements. */
function placesOf(value: unknown, before: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => {
    const place = [...before, name];
    return [place, ...placesOf(one, place)];
  });
}

function withAt(place: readonly string[], name: string | null, value: unknown): unknown {
  const copy = structuredClone(WHOLE);
  let parent = copy as unknown as Record<string, unknown>;
  for (const step of place.slice(0, -1)) parent = parent[step] as Record<string, unknown>;
  const last = place[place.length - 1];
  if (name === null) parent[last] = value;
  else Object.assign(parent[last] as object, { [name]: value });
  return copy;
}

function shownOfSnapshot(snapshot: Snapshot): string[] {
  const content = Content.of(snapshot);
  const units = [content.hosts, ...Object.values(content.parts)].flat();
  return [
    serialiseSnapshot(snapshot, { revealKeys: false }),
    JSON.stringify(snapshot),
    inspect(snapshot, { depth: 9 }),
    ...units.map(({ key, hash }) => `${key} ${hash}`),
  ];
}

Deno.test("a key in its field is redacted everywhere, and available where revealed", () => {
  const { snapshot, problems } = parseSnapshot(JSON.stringify(WHOLE));
  assert.deepEqual(problems, []);
  assert.ok(snapshot !== null);
  for (const shown of shownOfSnapshot(snapshot)) assert.ok(!shown.includes(MARK), shown);
  assert.ok(serialiseSnapshot(snapshot, { revealKeys: true }).includes(MARK));
});

Deno.test("a key in place of any other value or as a field of any object appears in no problem", () => {
  const places = placesOf(WHOLE).filter((place) => !["pem", "text"].includes(place.at(-1)!));
  assert.ok(places.length > 80, `${places.length}`);
  for (const place of places) {
    for (const wrong of [KEY, [KEY], { pem: KEY }]) {
      const { problems } = parseSnapshot(JSON.stringify(withAt(place, null, wrong)));
      assert.ok(!JSON.stringify(problems).includes(MARK), place.join("."));
    }
    const value = place.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], WHOLE);
    if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
    const { problems } = parseSnapshot(JSON.stringify(withAt(place, "later", KEY)));
    assert.ok(!JSON.stringify(problems).includes(MARK), place.join("."));
  }
});

Deno.test("a key in a randomly corrupted line of the stream appears in no reason", () => {
  const { snapshot } = parseSnapshot(JSON.stringify(WHOLE));
  const line = wholeLine(Content.of(snapshot!));
  const random = new Random(1);
  let refused = 0;
  for (let i = 0; i < 2_000; i++) {
    const at = random.below(line.length - 10);
    const changed = line.slice(0, at) + random.pick(["", '"', "{", "0,", "null", "[]", "x"]) +
      line.slice(at + random.below(4));
    const read = readUpdate(changed.trimEnd());
    if (!read.ok) {
      assert.ok(!read.reason.includes(MARK), read.reason);
      refused++;
      continue;
    }
    if (read.message.kind !== "snapshot") continue;
    assert.ok(!JSON.stringify(read.message).includes(MARK));
    const taken = new ReceivedContent().take(read.message);
    if (taken.ok) continue;
    refused++;
    assert.ok(!taken.reason.includes(MARK), taken.reason);
  }
  assert.ok(refused > 1_000, `${refused}`);
});

Deno.test("equal content has the same id, in any order of its fields", () => {
  const [{ filters: [filter] }] = WHOLE.filterSets;
  const spec = filter as { kind: "request-headers"; remove: string[] };
  const id = contentId(FILTER_SET, { filters: [spec] });
  assert.match(id, /^[0-9a-f]{32}$/);
  assert.equal(contentId(FILTER_SET, { filters: [{ remove: spec.remove, kind: spec.kind }] }), id);
  assert.notEqual(contentId(FILTER_SET, { filters: [{ ...spec, remove: ["y"] }] }), id);
});

Deno.test("a password changes no hash and no name, and its version changes both", () => {
  const hashesOf = (file: string, revision: string) => {
    const text = `#pingress a/users auth-file ${revision}\n${file}`;
    const credentials = [{ id: "a/users auth-file", users: { kind: "secret", text } }];
    const { snapshot, problems } = parseSnapshot(JSON.stringify({ ...WHOLE, credentials }));
    assert.deepEqual(problems, []);
    const content = Content.of(snapshot!);
    const read = readUpdate(wholeLine(content).trimEnd());
    assert.ok(read.ok && read.message.kind === "snapshot");
    const taken = new ReceivedContent().take(read.message);
    assert.ok(taken.ok, taken.ok ? "" : taken.reason);
    const [{ users }] = taken.snapshot.credentials!;
    assert.ok(users.kind === "secret" && users.text.reveal() === text);
    return [content.hash, secretFileName(text)];
  };
  const one = hashesOf("ann:{PLAIN}a\n", "1");
  assert.deepEqual(hashesOf("ann:{PLAIN}b\n", "1"), one);
  const other = hashesOf("ann:{PLAIN}a\n", "2");
  assert.notEqual(other[0], one[0]);
  assert.notEqual(other[1], one[1]);
});
