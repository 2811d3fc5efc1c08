import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { silentLogger } from "../../../shared/log.ts";
import { type ClaimsConfigMap, ClaimsKeeper } from "./host_claims.ts";
import { ObjectStore } from "../../kube/store.ts";
import type { ApiResult, KubeObject } from "../../kube/types.ts";
import type { HostClaims } from "../../translate/hosts/host_claims.ts";

const SINCE = "2029-06-01T00:00:00Z";

function claimsOf(owners: Readonly<Record<string, readonly string[]>>): HostClaims {
  return new Map(
    Object.entries(owners).map(([host, names]) => [
      host,
      names.map((namespace) => ({ namespace, since: SINCE })),
    ]),
  );
}

type Content = Pick<ClaimsConfigMap, "data" | "binaryData">;
type Patch = Partial<Record<"data" | "binaryData", Record<string, null>>>;

/** An API server with one ConfigMap, whose watch shows each write at once. */
class Server {
  readonly store = new ObjectStore<ClaimsConfigMap>();
  readonly writes: string[] = [];
  /** What each write was made from. */
  readonly versions: string[] = [];
  refusal: number | null = null;
  #version = 0;
  /** Of somebody else: server-side apply leaves them. */
  #foreign: Content = {};

  keeper(): ClaimsKeeper {
    return new ClaimsKeeper({
      client: {
        apply: <T extends KubeObject>(
          _resource: unknown,
          object: KubeObject,
          { resourceVersion }: { readonly resourceVersion?: string } = {},
        ) => Promise.resolve(this.#apply(object, resourceVersion) as ApiResult<T>),
        patch: <T extends KubeObject>(
          _resource: unknown,
          _namespace: unknown,
          _name: unknown,
          patch: unknown,
        ) => Promise.resolve(this.#patch(patch as Patch) as ApiResult<T>),
        delete: () => Promise.resolve(this.#delete()),
      },
      namespace: "system",
      configMaps: this.store,
      log: silentLogger,
    });
  }

  /** As somebody else would write it. */
  put(data: Record<string, string>, binaryData?: Record<string, string>): void {
    this.#foreign = { data, binaryData };
    const resourceVersion = String(++this.#version);
    const metadata = { name: "pingress-claims", namespace: "system", uid: "1", resourceVersion };
    this.store.put({ metadata, data, binaryData });
  }

  remove(): void {
    this.#foreign = {};
    this.store.remove("system", "pingress-claims");
  }

  #apply(object: KubeObject, madeFrom: string | undefined): ApiResult<KubeObject> {
    this.versions.push(madeFrom ?? "");
    if (this.refusal !== null) {
      const error = { code: this.refusal, reason: "Forbidden", message: "no", retryAfter: null };
      return { ok: false, error };
    }
    const { data, binaryData } = object as ClaimsConfigMap;
    const all = {
      data: { ...this.#foreign.data, ...data },
      binaryData: { ...this.#foreign.binaryData, ...binaryData },
    };
    if (Object.keys(all.data).some((key) => Object.hasOwn(all.binaryData, key))) {
      const message = "duplicate of key present in binaryData";
      return { ok: false, error: { code: 422, reason: "Invalid", message, retryAfter: null } };
    }
    const resourceVersion = String(++this.#version);
    const stored = {
      ...object,
      ...all,
      metadata: { ...object.metadata, uid: "1", resourceVersion },
    };
    this.writes.push("apply");
    this.store.put(stored);
    return { ok: true, value: stored };
  }

  #patch(patch: Patch): ApiResult<KubeObject> {
    const stored = this.store.get("system", "pingress-claims")!;
    const without = (field: "data" | "binaryData", of: Content) =>
      Object.fromEntries(
        Object.entries(of[field] ?? {}).filter(([key]) => patch[field]?.[key] !== null),
      );
    const left = (of: Content) => ({
      data: without("data", of),
      binaryData: without("binaryData", of),
    });
    this.#foreign = left(this.#foreign);
    const resourceVersion = String(++this.#version);
    const patched = {
      ...stored,
      ...left(stored),
      metadata: { ...stored.metadata, resourceVersion },
    };
    this.writes.push("patch");
    this.store.put(patched);
    return { ok: true, value: patched };
  }

  #delete(): ApiResult<KubeObject> {
    this.writes.push("delete");
    this.remove();
    return { ok: true, value: { metadata: { name: "pingress-claims" } } };
  }
}

Deno.test("claims are written once, and another process reads the same", async () => {
  const server = new Server();
  const keeper = server.keeper();
  assert.equal(keeper.claims(), null);
  const claims = claimsOf({ "shop.test": ["victim", "evil"], "*.test": ["victim"] });
  keeper.plan(claims);
  await keeper.run();
  await keeper.run();
  assert.deepEqual(server.writes, ["apply"]);
  assert.equal(keeper.differs, false);
  assert.deepEqual(new Map(server.keeper().claims()), new Map(claims));
});

Deno.test("a deleted or damaged record is restored", async () => {
  const server = new Server();
  const keeper = server.keeper();
  const claims = claimsOf({ "shop.test": ["victim"] });
  keeper.plan(claims);
  await keeper.run();
  const damages = [
    () => server.remove(),
    () => server.put({ "claims.json": "{" }),
    () => server.put({ "claims.json": '{"version":99,"hosts":[]}' }),
    () => server.put({}),
  ];
  for (const damage of damages) {
    damage();
    assert.equal(server.keeper().claims(), null);
    assert.deepEqual(keeper.claims(), claims, "the claims of this process hold");
    await keeper.run();
    assert.deepEqual(new Map(server.keeper().claims()), new Map(claims));
  }
  assert.equal(server.writes.length, 1 + damages.length);
});

Deno.test("a record whose key somebody else has put into the other field is made again", async () => {
  const server = new Server();
  const keeper = server.keeper();
  const claims = claimsOf({ "shop.test": ["victim"] });
  keeper.plan(claims);
  server.put({}, { "claims.json": "ZGFtYWdlZA==" });
  await keeper.run();
  assert.deepEqual(server.writes, ["delete", "apply"]);
  assert.deepEqual(new Map(server.keeper().claims()), new Map(claims));
  assert.deepEqual(keeper.problems, []);
});

Deno.test("a compressed record that somebody else has put beside the text is removed", async () => {
  const old = gzipSync('{"version":1,"hosts":[]}').toString("base64");
  for (const packed of [old, "damaged"]) {
    const server = new Server();
    const keeper = server.keeper();
    const claims = claimsOf({ "shop.test": ["victim"] });
    keeper.plan(claims);
    await keeper.run();
    server.put({}, { "claims.json.gz": packed });
    await keeper.run();
    assert.deepEqual(new Map(server.keeper().claims()), new Map(claims));
    const count = server.writes.length;
    await keeper.run();
    assert.equal(server.writes.length, count, "once");
    const next = claimsOf({ "shop.test": ["victim"], "new.test": ["other"] });
    keeper.plan(next);
    await keeper.run();
    assert.deepEqual(new Map(server.keeper().claims()), new Map(next));
  }
});

Deno.test("an unreadable host in the record loses only its own claim", () => {
  const server = new Server();
  const good = { host: "shop.test", claims: [{ namespace: "victim", since: SINCE }] };
  const bad = [
    { host: "*", claims: good.claims },
    { host: "UPPER.test", claims: good.claims },
    { host: "a.test", claims: [{ namespace: "Not a name", since: SINCE }] },
    { host: "b.test" },
    null,
  ];
  server.put({ "claims.json": JSON.stringify({ version: 1, hosts: [...bad, good] }) });
  assert.deepEqual(server.keeper().claims(), claimsOf({ "shop.test": ["victim"] }));
});

Deno.test("many claims are compressed, and read back completely", async () => {
  const server = new Server();
  const keeper = server.keeper();
  const hosts = Array.from({ length: 10_000 }, (_, i) => [`host-${i}.example.com`, [`team-${i}`]]);
  const claims = claimsOf(Object.fromEntries(hosts));
  keeper.plan(claims);
  await keeper.run();
  const stored = server.store.get("system", "pingress-claims")!;
  assert.deepEqual(stored.data, {});
  assert.deepEqual(new Map(server.keeper().claims()), new Map(claims));
});

Deno.test("a namespace with too many claims loses its own newest, and no other namespace any", async () => {
  const server = new Server();
  const keeper = server.keeper();
  const before = claimsOf({ "shop.test": ["victim"] });
  keeper.plan(before);
  await keeper.run();
  const random = () => crypto.randomUUID().replaceAll("-", "");
  const many = Array.from({ length: 40_000 }, () => [`${random()}${random()}.test`, ["evil"]]);
  const planned = claimsOf(
    Object.fromEntries([...many, ["shop.test", ["victim"]], ["new.test", ["victim"]]]),
  );
  keeper.plan(planned);
  assert.equal((await keeper.run()).kind, "done");
  const [{ reason, message }] = keeper.problems;
  assert.equal(reason, "ClaimsTooLarge");
  assert.match(message, /namespace evil are not recorded/);
  const recorded = server.keeper().claims()!;
  assert.equal(recorded.get("new.test")![0].namespace, "victim");
  assert.ok(recorded.size > 1000 && recorded.size < planned.size);
  // Nothing to write any more, and the problem stays.
  await keeper.run();
  assert.deepEqual(server.writes, ["apply", "apply"]);
  assert.equal(keeper.problems.length, 1);
});

Deno.test("where claims of many namespaces do not fit, each keeps its oldest", async () => {
  const server = new Server();
  const keeper = server.keeper();
  const random = () => crypto.randomUUID().replaceAll("-", "");
  const hosts = Array.from(
    { length: 30_000 },
    (_, i) => [`${random()}${random()}.test`, [`team-${i % 40}`]],
  );
  const small = [["shop.test", ["victim"]]];
  keeper.plan(claimsOf(Object.fromEntries([...hosts, ...small])));
  assert.equal((await keeper.run()).kind, "done");
  assert.deepEqual(keeper.problems.map(({ reason }) => reason), ["ClaimsTooLarge"]);
  const recorded = server.keeper().claims()!;
  assert.equal(recorded.get("shop.test")![0].namespace, "victim");
  assert.ok(recorded.size > 10_000 && recorded.size < 30_000, `${recorded.size} claims`);
});

Deno.test("there is no record without claims or if all hosts are shared", async () => {
  for (const none of [new Map(), null]) {
    const server = new Server();
    const keeper = server.keeper();
    keeper.plan(claimsOf({ "shop.test": ["victim"] }));
    await keeper.run();
    keeper.plan(none);
    await keeper.run();
    assert.deepEqual(server.writes, ["apply", "delete"]);
    assert.equal(server.store.size, 0);
  }
});

Deno.test("a write has the resourceVersion that it is based on, so a stale one is rejected", async () => {
  const server = new Server();
  const keeper = server.keeper();
  for (const namespace of ["a", "b", "c"]) {
    keeper.plan(claimsOf({ "shop.test": [namespace] }));
    await keeper.run();
  }
  assert.deepEqual(server.versions, ["", "1", "2"]);
  server.refusal = 409;
  keeper.plan(claimsOf({ "shop.test": ["d"] }));
  assert.equal((await keeper.run()).kind, "failed");
  assert.deepEqual(keeper.problems, [], "a conflict is tried again");
});

Deno.test("nothing is written before the first translation", async () => {
  const server = new Server();
  server.put({ "claims.json": "{" });
  await server.keeper().run();
  assert.deepEqual(server.writes, []);
});

Deno.test("without the permission to write the record, claims still apply, and a problem names the remedy", async () => {
  const server = new Server();
  server.refusal = 403;
  const keeper = server.keeper();
  const claims = claimsOf({ "shop.test": ["victim"] });
  keeper.plan(claims);
  assert.equal((await keeper.run()).kind, "failed");
  assert.deepEqual(keeper.problems.map(({ reason }) => reason), ["ClaimsNotRecorded"]);
  assert.deepEqual(keeper.claims(), claims);
  server.refusal = null;
  await keeper.run();
  assert.deepEqual(keeper.problems, []);
});
