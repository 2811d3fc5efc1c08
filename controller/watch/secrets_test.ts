import assert from "node:assert/strict";
import type { KubeClient } from "../kube/client.ts";
import { excessOf } from "../kube/excess.ts";
import { sizeOf } from "../kube/reduce.ts";
import type { Identity } from "../base/identity.ts";
import { NamedSecrets } from "./secrets.ts";
import type { ReferenceUse } from "./reference_ledger.ts";

const MIB = 1 << 20;

/** Milliseconds. */
const PATIENCE = 10_000;

/** A client for which every Secret is there, that may watch those that are listed, or none. */
class Client {
  /** Bytes of the chain in each Secret, and how often each was read. */
  readonly reads = new Map<string, number>();
  constructor(
    readonly bytesOf: (name: string) => number,
    readonly listed: readonly string[] | null = null,
  ) {}

  get(_resource: unknown, namespace: string, name: string) {
    this.reads.set(name, (this.reads.get(name) ?? 0) + 1);
    return Promise.resolve({ ok: true, value: this.#secret(namespace, name) });
  }

  #secret(namespace: string, name: string) {
    const data = { "tls.crt": btoa("x".repeat(this.bytesOf(name))), "tls.key": "" };
    const metadata = { namespace, name, uid: name, resourceVersion: "5" };
    return { metadata, type: "kubernetes.io/tls", data };
  }

  list() {
    const error = { code: 403, reason: "Forbidden", message: "no", retryAfter: null };
    if (this.listed === null) return Promise.resolve({ ok: false, error });
    const items = this.listed.map((name) => this.#secret("shop", name));
    const value = { metadata: { resourceVersion: "5" }, items, bytes: 1 };
    return Promise.resolve({ ok: true, value });
  }

  watch() {
    return this.listed === null ? this.list() : new Promise(() => {});
  }

  onRecovery = () => () => {};
  wellFor = 0;
  unwellFor = 0;
}

function use(createdAt: number, names: readonly string[]): ReferenceUse {
  const ref = { kind: "Ingress", namespace: "shop", name: `i${createdAt}` };
  const owner: Identity = { ref, key: `shop/i${createdAt}`, label: "", createdAt };
  return { owner, certificates: names.map((name) => `shop/${name}`), listeners: [], others: [] };
}

class Scene implements AsyncDisposable {
  readonly client: Client;
  readonly secrets: NamedSecrets;

  /** @param listed With them, they are watched with their data. */
  constructor(
    bounds: { count: number; bytes: number },
    bytesOf: (name: string) => number,
    listed: readonly string[] | null = null,
  ) {
    this.client = new Client(bytesOf, listed);
    const client = this.client as unknown as KubeClient;
    const mode = listed === null ? "named" : "tls";
    this.secrets = new NamedSecrets({ client, namespaces: null, mode, bounds });
    this.secrets.start();
  }

  async read(...uses: ReferenceUse[]): Promise<void> {
    await this.secrets.synced;
    this.secrets.want(this.secrets.choose({ uses, global: [] }, null));
    assert.equal(await this.secrets.settled(PATIENCE), true);
  }

  /** Names of those that are kept whole. */
  get kept(): string[] {
    return this.secrets.store.list().filter((each) => excessOf(each) === null)
      .map(({ metadata }) => metadata.name).sort();
  }

  get bounds(): Record<string, number> {
    const found = this.secrets.store.list().flatMap((each) => excessOf(each)?.bound ?? []);
    return Object.fromEntries([...new Set(found)].map((each) => [
      each,
      found.filter((other) => other === each).length,
    ]));
  }

  async [Symbol.asyncDispose]() {
    // The watch of the client does not end.
    if (this.client.listed === null) await this.secrets.stop();
  }
}

const many = (count: number) => Array.from({ length: count }, (_, i) => `s${i}`);

Deno.test("of 4,500 Secrets that an Ingress names, as many are read as a namespace may name", async () => {
  await using scene = new Scene({ count: 1000, bytes: 8 * MIB }, () => 5_000);
  await scene.read(use(0, ["first"]), use(1, many(4_500)));
  assert.equal(scene.client.reads.size, 1000);
  assert.equal(scene.kept.length, 1000);
  assert.ok(scene.kept.includes("first"));
  assert.deepEqual(scene.bounds, { secrets: 3_501 });
});

Deno.test("of 400 large Secrets, as many bytes are kept as a namespace may have", async () => {
  await using scene = new Scene({ count: 1000, bytes: 8 * MIB }, () => 200_000);
  await scene.read(use(1, many(400)), use(0, ["first"]));
  assert.equal(scene.kept.length, 41);
  assert.ok(scene.kept.includes("first"));
  assert.deepEqual(scene.bounds, { secretBytes: 360 });
  assert.ok(sizeOf(scene.secrets.store.list()) < 12 * MIB);
});

Deno.test("400 Secrets of 1 MB take less than 1 MiB", async () => {
  await using scene = new Scene({ count: 1000, bytes: 8 * MIB }, () => 1_000_000);
  await scene.read(use(0, many(400)));
  assert.ok(sizeOf(scene.secrets.store.list()) < MIB);
});

Deno.test("Secrets for which there is room again are read again", async () => {
  await using scene = new Scene({ count: 3, bytes: 1_000 }, (name) => name === "large" ? 800 : 90);
  await scene.read(use(0, ["large"]), use(1, ["a", "b"]), use(2, ["c"]));
  assert.deepEqual(scene.kept, ["a", "large"]);
  assert.deepEqual(scene.bounds, { secretBytes: 1, secrets: 1 });
  await scene.read(use(1, ["a", "b"]), use(2, ["c"]));
  assert.deepEqual(scene.kept, ["a", "b", "c"]);
  assert.deepEqual(scene.bounds, {});
  await scene.read(use(0, ["large"]), use(1, ["a", "b"]), use(2, ["c"]));
  assert.deepEqual(scene.kept, ["a", "large"]);
});

Deno.test("of Secrets that are watched with their data, a namespace has so many bytes, and others are read by name", async () => {
  await using scene = new Scene({ count: 5, bytes: MIB }, () => 200_000, many(60));
  await scene.read(use(0, ["s0", "s50", "s59"]));
  assert.deepEqual(scene.kept, ["s0", "s50", "s59"]);
  assert.deepEqual([...scene.client.reads.keys()].sort(), ["s50", "s59"]);
});
