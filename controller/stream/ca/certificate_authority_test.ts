import { deepEqual, equal, ok } from "node:assert/strict";
import { Redacted } from "../../../shared/redacted.ts";
import { Random } from "../../../tests/fuzz/random.ts";
import {
  AUTHORITY_TIMES,
  type AuthorityState,
  bundleOf,
  nextStep,
  type ServingCertificate,
  type Signer,
  signerFor,
  withNext,
} from "./certificate_authority.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.parse("2026-01-01T00:00:00Z");

function signer(id: string, now: number): Signer {
  return {
    certPem: `[${id}]`,
    keyPem: new Redacted(id),
    id,
    validFrom: now - AUTHORITY_TIMES.backdate,
    validTo: now + AUTHORITY_TIMES.authorityLife,
  };
}

/** A leader's Secret and ConfigMap, each step by itself. */
class Store {
  state: AuthorityState | null = null;
  published: ReadonlySet<string> | null = null;
  made = 0;
  readonly done: string[] = [];

  /** Takes one step, of which any may be a leader's last. False where nothing is due. */
  step(now: number): boolean {
    const step = nextStep(this.state, this.published, now);
    if (step.kind === "wait") {
      ok(step.until > now, "what is due is no wait");
      return false;
    }
    this.done.push(step.kind === "store" ? step.what : step.kind);
    if (step.kind === "publish") this.published = new Set(idsIn(bundleOf(this.state!)));
    else if (step.kind === "store") this.state = step.state;
    else {
      const trusted = [...this.published ?? []].map((id) => signer(id, now));
      this.state = withNext(this.state, signer(`ca${++this.made}`, now), trusted, now);
    }
    return true;
  }

  settle(now: number): string[] {
    const from = this.done.length;
    for (let steps = 0; this.step(now); steps++) ok(steps < 10, "the steps have no end");
    return this.done.slice(from);
  }
}

function idsIn(bundle: string): string[] {
  return Array.from(bundle.matchAll(/\[(.*?)\]/g), ([, id]) => id);
}

/** A replica that reads the Secret now and then, and serves by it. */
class Replica {
  current: ServingCertificate | null = null;
  readAt = 0;

  read(state: AuthorityState | null, now: number): void {
    this.readAt = now;
    const by = state === null ? null : signerFor(state, this.current, now);
    if (by === null) return;
    const { validTo } = by;
    this.current = {
      certPem: "",
      keyPem: new Redacted(""),
      authority: by.id,
      validTo: Math.min(validTo, now + AUTHORITY_TIMES.servingLife),
    };
  }
}

Deno.test("the first CA is published at once, and signs for every replica without a certificate", () => {
  const store = new Store();
  deepEqual(store.settle(START), ["make", "publish", "announced"]);
  deepEqual([store.state?.signer, store.state?.next?.id], [null, "ca1"]);
  const replica = new Replica();
  replica.read(store.state, START);
  equal(replica.current?.authority, "ca1");
  deepEqual(store.settle(START + HOUR), ["promoted"]);
  replica.read(store.state, START + HOUR);
  deepEqual([store.state?.signer?.id, replica.current?.validTo], ["ca1", START + 7 * DAY]);
});

Deno.test("a CA is replaced at two thirds of its lifetime, and removed a week later", () => {
  const store = new Store();
  store.settle(START);
  store.settle(START + HOUR);
  const due = START - DAY + 366 * DAY * 2 / 3;
  deepEqual(store.settle(due - 1), []);
  deepEqual(store.settle(due), ["make", "publish", "announced"]);
  deepEqual(store.settle(due + HOUR - 1), []);
  equal(store.state?.signer?.id, "ca1");
  deepEqual(store.settle(due + HOUR), ["promoted"]);
  equal(store.state?.signer?.id, "ca2");
  deepEqual([...store.published!].sort(), ["ca1", "ca2"]);
  deepEqual(store.settle(due + HOUR + 8 * DAY - 1), []);
  deepEqual(store.settle(due + HOUR + 8 * DAY), ["forgotten", "publish"]);
  deepEqual([...store.published!], ["ca2"]);
});

Deno.test("a bundle that was deleted waits its full hour again", () => {
  const store = new Store();
  store.settle(START);
  store.published = null;
  deepEqual(store.settle(START + HOUR), ["withdrawn", "publish", "announced"]);
  deepEqual(store.settle(START + 2 * HOUR - 1), []);
  deepEqual(store.settle(START + 2 * HOUR), ["promoted"]);
});

Deno.test("foreign certificates in the bundle are removed, missing ones are restored", () => {
  const store = new Store();
  store.settle(START);
  store.settle(START + HOUR);
  for (const published of [new Set(["ca1", "foreign"]), new Set<string>(), null]) {
    store.published = published;
    deepEqual(store.settle(START + 2 * HOUR), ["publish"]);
    deepEqual([...store.published!], ["ca1"]);
  }
});

Deno.test("a CA whose Secret is deleted stays trusted, and replicas serve with it for another hour", () => {
  const store = new Store();
  store.settle(START);
  store.settle(START + HOUR);
  const replica = new Replica();
  replica.read(store.state, START + HOUR);
  store.state = null;
  const now = START + 2 * HOUR;
  deepEqual(store.settle(now), ["make", "publish", "announced"]);
  deepEqual([...store.published!].sort(), ["ca1", "ca2"]);
  replica.read(store.state, now);
  equal(replica.current?.authority, "ca1");
  const restarted = new Replica();
  restarted.read(store.state, now);
  equal(restarted.current?.authority, "ca2");
  store.settle(now + HOUR);
  replica.read(store.state, now + HOUR);
  equal(replica.current?.authority, "ca2");
});

Deno.test("deleting both Secret and ConfigMap removes the old CA at once", () => {
  const store = new Store();
  store.settle(START);
  store.settle(START + HOUR);
  const replica = new Replica();
  replica.read(store.state, START + HOUR);
  store.state = store.published = null;
  store.settle(START + 2 * HOUR);
  deepEqual([...store.published!], ["ca2"]);
  replica.read(store.state, START + 2 * HOUR);
  equal(replica.current?.authority, "ca2");
});

Deno.test("there is a new CA after a year of downtime, and after a clock that was a year ahead", () => {
  for (const passed of [400 * DAY, -400 * DAY]) {
    const store = new Store();
    store.settle(START);
    store.settle(START + HOUR);
    const now = START + passed;
    store.settle(now);
    const { signer, next } = store.state!;
    deepEqual([signer, next?.id], [null, "ca2"]);
    ok(store.published!.has("ca2"));
    const replica = new Replica();
    replica.read(store.state, now);
    equal(replica.current?.authority, "ca2");
  }
});

Deno.test("a serving certificate is renewed at two thirds of its lifetime", () => {
  const store = new Store();
  store.settle(START);
  const now = START + HOUR;
  store.settle(now);
  const replica = new Replica();
  replica.read(store.state, now);
  const first = replica.current;
  replica.read(store.state, now + 7 * DAY * 2 / 3 - 1);
  equal(replica.current, first);
  replica.read(store.state, now + 7 * DAY * 2 / 3);
  ok(replica.current!.validTo > first!.validTo);
});

Deno.test("for years, every proxy trusts the certificate of every replica", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    const store = new Store();
    const replicas = [new Replica(), new Replica(), new Replica()];
    /** What proxies have mounted, by how late their kubelet is: at once, or minutes later. */
    const mounts: (readonly [now: number, ids: ReadonlySet<string>])[] = [];
    const known = new Set<string>();
    for (let now = START; now < START + 1200 * DAY;) {
      // A leader may end after any step, and the next one begins a minute later.
      const steps = random.below(4);
      for (let step = 0; step < steps && store.step(now); step++);
      // Only in the first minutes nobody can know it yet.
      const isSettled = now > START + 10 * MINUTE;
      if (store.published !== null) mounts.push([now, store.published]);
      const late = mounts.findLast(([at]) => at <= now - 2 * MINUTE)?.[1];
      for (const [index, replica] of replicas.entries()) {
        // The second one reads now and then, the third is cut off for a day at times.
        const isLate = now - replica.readAt > DAY;
        const reads = index === 0 ||
          (index === 1 ? isLate || random.oneIn(2) : now % (2 * DAY) < DAY);
        if (reads) replica.read(store.state, now);
        if (replica.current === null || !isSettled) continue;
        const { authority, validTo } = replica.current;
        known.add(authority);
        ok(validTo > now, `${seed}: a replica serves by what has expired`);
        for (const trusted of [store.published!, late!]) {
          ok(trusted.has(authority), `${seed}: at ${new Date(now).toISOString()} ${authority}`);
        }
      }
      while (mounts.length > 10) mounts.shift();
      // Minute by minute where something happens, hours where nothing does.
      const isQuiet = nextStep(store.state, store.published, now).kind === "wait" &&
        store.state?.next === null;
      now += isQuiet ? 6 * HOUR : MINUTE;
    }
    ok(known.size >= 5, `${seed}: ${known.size} authorities`);
  }
});
