/**
 * Changes that are carried from the stream to workers lead where whole snapshots lead, whatever comes
 * between: refused and lost updates, files, new streams, workers that start later.
 */
import assert from "node:assert/strict";
import { ActiveSnapshot } from "../../proxy/config/active_snapshot.ts";
import { type SnapshotDelta, SnapshotDiffer } from "../../proxy/config/diff.ts";
import { packDelta, unpackDelta } from "../../proxy/process/worker_protocol.ts";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { snapshotMemory } from "../../shared/snapshot/memory.ts";
import { parseSnapshot } from "../../shared/snapshot/parse.ts";
import type { Route, Snapshot, SnapshotChange } from "../../shared/snapshot/types.ts";
import { deltaLine, wholeLine } from "../../shared/stream/change.ts";
import { Content } from "../../shared/stream/content.ts";
import { ReceivedContent } from "../../shared/stream/received.ts";
import { Random } from "../fuzz/random.ts";
import { HOSTS } from "../support/random_snapshot.ts";
import { randomSnapshots, takeLine, textOf } from "../support/streamed_snapshots.ts";

/** All that a worker has been told, and nothing that it makes of it. */
class Worker {
  readonly lists = {
    hosts: new Map<string, unknown>(),
    hostSettings: new Map<string, unknown>(),
    filterSets: new Map<string, unknown>(),
    policies: new Map<string, unknown>(),
    upstreams: new Map<string, unknown>(),
    certificates: new Map<string, unknown>(),
    certificateOfHost: new Map<string, unknown>(),
    certificateOfId: new Map<string, unknown>(),
  };
  rest: unknown = null;

  /** A delta as it is posted. */
  take(posted: SnapshotDelta): void {
    const { lists } = this;
    const delta = unpackDelta(structuredClone(packDelta(posted)));
    for (const { host, routes } of delta.hosts) {
      if (routes.length === 0) lists.hosts.delete(host);
      else lists.hosts.set(host, routes);
    }
    const follow = (
      list: Map<string, unknown>,
      changed: readonly { readonly id: string }[],
      removed: readonly string[],
    ) => {
      for (const part of changed) list.set(part.id, part);
      for (const id of removed) list.delete(id);
    };
    for (const name of ["hostSettings", "filterSets", "policies"] as const) {
      follow(lists[name], delta[name].changed, delta[name].removed);
    }
    follow(lists.upstreams, delta.upstreams, delta.removedUpstreams);
    const { changed, removed, hosts, ids } = delta.certificates;
    follow(lists.certificates, changed, removed);
    for (const [list, names] of [["certificateOfHost", hosts], ["certificateOfId", ids]] as const) {
      for (const [name, id] of names) {
        if (id === null) lists[list].delete(name);
        else lists[list].set(name, id);
      }
    }
    const { version, listeners, defaultAction, defaultCertificate, loopMark, denied } = delta;
    this.rest = { version, listeners, defaultAction, defaultCertificate, loopMark, denied };
  }

  /** As one that starts now. */
  static of(snapshot: Snapshot): Worker {
    const worker = new Worker();
    worker.take(new SnapshotDiffer().diff(snapshot, certificatesOf(snapshot)));
    return worker;
  }
}

/** What the loader makes of them, without a look at keys. */
function certificatesOf({ certificates }: Snapshot): ServerCertificate[] {
  return certificates.map(({ id, hosts, chain, key }) => {
    assert.ok(chain.kind === "pem" && key.kind === "secret");
    return { id, hosts, chain: chain.pem, key: key.pem };
  });
}

const ORIGIN = { kind: "Gateway", namespace: "a", name: "web", field: "" };

/** A snapshot with parts of the kinds that `randomSnapshots` has not, which routes refer to. */
function enriched(snapshot: Snapshot, random: Random): Snapshot {
  const some = <T>(list: readonly T[]) => list.filter(() => random.oneIn(2));
  const policies = some(["p1", "p2"]).map((id) => ({ id, tries: 1 + random.below(2) }));
  const filterSets = some(["f1", "f2"]).map((id) => ({
    id,
    filters: [{ kind: "access" as const, deny: [`192.0.2.${random.below(2)}/32`] }],
  }));
  const listeners = some(["l1", "l2"]).map((id) => ({
    id,
    port: 8000 + random.below(2),
    socket: "http",
    protocol: "HTTP" as const,
    wildcards: "suffix" as const,
    fallThrough: true,
    origin: ORIGIN,
  }));
  const hostSettings = some(HOSTS).toSorted().map((id) => ({
    id,
    httpsRedirect: random.oneIn(2),
  }));
  const settings = (index: number): Partial<Route> => {
    const pick = <T extends { readonly id: string }>(list: readonly T[]) =>
      list.length > 0 && index % 2 === 0 ? list[index % list.length].id : undefined;
    const [policy, filterSet, listener] = [pick(policies), pick(filterSets), pick(listeners)];
    return {
      ...(policy === undefined ? {} : { policy }),
      ...(filterSet === undefined ? {} : { filterSet }),
      ...(listener === undefined ? {} : { listeners: [listener] }),
    };
  };
  return {
    ...snapshot,
    ...(listeners.length === 0 ? {} : { listeners }),
    ...(hostSettings.length === 0 ? {} : { hostSettings }),
    ...(filterSets.length === 0 ? {} : { filterSets }),
    ...(policies.length === 0 ? {} : { policies }),
    routes: snapshot.routes.map((route, index) => ({ ...route, ...settings(index) })),
  };
}

/** The controller's end, a proxy with workers, and what they are compared with. */
class Scene {
  readonly #random: Random;
  readonly #differ = new SnapshotDiffer();
  readonly workers = [new Worker(), new Worker(), new Worker()];
  #received = new ReceivedContent();
  #active: ActiveSnapshot;
  /** What the controller has sent last on this stream, and all lines of it. */
  #sent: Content | null = null;
  readonly #lines: string[] = [];
  #last: Content | null = null;
  #revision = 10;
  /** The one that is in force, by the differ's last call. */
  #served: Snapshot | null = null;
  readonly counts = new Map<string, number>();

  constructor(random: Random) {
    this.#random = random;
    this.#active = new ActiveSnapshot({
      maxRouteLoss: 60,
      hasStream: true,
      memory: { limit: 2 ** 30, workers: 2 },
      apply: (snapshot, change) => this.#apply(snapshot, change),
    });
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  #apply(snapshot: Snapshot, change: SnapshotChange | null): Promise<void> {
    const isCarried = change !== null && change.base === this.#served;
    this.#count(isCarried ? "carried" : "compared");
    const delta = this.#differ.diff(snapshot, certificatesOf(snapshot), change);
    this.#served = snapshot;
    if (isCarried) {
      const known = new Set([...change.base.routes, ...snapshot.routes].map(({ host }) => host));
      assert.ok(delta.hosts.every(({ host }) => known.has(host)));
    }
    for (const worker of this.workers) worker.take(delta);
    return Promise.resolve();
  }

  /** What the cluster has now. */
  cluster(snapshot: Snapshot): Content {
    const version = { epoch: "cluster", seen: { Ingress: String(++this.#revision) } };
    return this.#last = Content.of({ ...snapshot, version }, this.#last ?? undefined);
  }

  /** The controller sends what is new. */
  send(content: Content): void {
    const isWhole = this.#sent === null || this.#random.oneIn(8);
    this.#line(isWhole ? wholeLine(content) : deltaLine(this.#sent!, content), content);
  }

  /** A line that is for another state than the proxy's: repeated, late, or damaged. */
  disturb(content: Content): void {
    if (this.#sent === null) return;
    if (this.#lines.length > 0 && this.#random.oneIn(2)) {
      return this.#line(this.#random.pick(this.#lines), this.#sent);
    }
    const line = deltaLine(this.#sent, content);
    this.#line(line.replace(/"hash":"../, '"hash":"00'), this.#sent);
  }

  #line(line: string, content: Content): void {
    this.#sent = content;
    this.#lines.push(line);
    const taken = takeLine(this.#received, line);
    if (!taken.ok && taken.kind === "lost") {
      this.#count("lost");
      return this.#line(wholeLine(this.#last!), this.#last!);
    }
    if (!taken.ok) {
      this.#count("unusable");
      return;
    }
    const { snapshot, hash, change } = taken;
    if (content.hash === hash) assert.equal(textOf(snapshot), textOf(content.snapshot));
    const verdict = this.#active.takeStream(
      snapshot,
      hash,
      line.startsWith('{"kind":"snap'),
      change,
    );
    this.#count(verdict.kind === "taken" ? "taken" : `refused: ${verdict.code}`);
    const copied = {
      ...snapshot,
      routes: [...snapshot.routes],
      upstreams: [...snapshot.upstreams],
      certificates: [...snapshot.certificates],
    };
    assert.equal(snapshotMemory(snapshot, 2), snapshotMemory(copied, 2));
  }

  /** The same cluster by mounted files. */
  file({ snapshot }: Content): void {
    const read = parseSnapshot(textOf(snapshot)).snapshot;
    assert.ok(read !== null);
    if (this.#active.objectionToFile(read) !== null) return this.#count("late file");
    this.#active.takeFile(read);
    this.#count("file");
  }

  /** Another stream, as `StreamSource` begins it. */
  async reconnect(): Promise<void> {
    // What is applied is known a turn later.
    await Promise.resolve();
    const { content, hash } = this.#active;
    if (content !== null && this.#received.hash !== hash) {
      this.#received = ReceivedContent.from(content);
    }
    this.#sent = hash !== null && this.#last?.hash === hash ? this.#last : null;
    this.#count("stream");
  }

  /** A worker is replaced by one that begins with all. */
  restart(): void {
    if (this.#served === null) return;
    this.workers[this.#random.below(this.workers.length)] = Worker.of(this.#served);
  }

  check(): void {
    const { current } = this.#active;
    assert.equal(current?.snapshot ?? null, this.#served);
    if (current === null) return;
    const expected = Worker.of(current.snapshot);
    for (const worker of this.workers) assert.deepEqual(worker, expected);
  }
}

/** A route to an upstream that does not exist: nobody can use it. */
function unusable(snapshot: Snapshot, random: Random): Snapshot {
  const index = random.below(snapshot.routes.length);
  const action = { kind: "forward" as const, backends: [{ upstream: "nowhere" }] };
  return {
    ...snapshot,
    routes: snapshot.routes.map((route, at) => at === index ? { ...route, action } : route),
  };
}

Deno.test("workers that follow carried changes have what the whole snapshot has, in any order of events", async () => {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const scene = new Scene(random);
    for (const snapshot of randomSnapshots(random.fork(), 40)) {
      const next = enriched(snapshot, random.fork());
      const isBroken = random.oneIn(10) && next.routes.length > 0;
      const content = scene.cluster(isBroken ? unusable(next, random) : next);
      const files = !isBroken && random.oneIn(6);
      if (files && random.oneIn(2)) scene.file(content);
      if (!random.oneIn(8)) scene.send(content);
      if (files) scene.file(content);
      if (random.oneIn(6)) scene.disturb(content);
      if (random.oneIn(10)) await scene.reconnect();
      if (random.oneIn(5)) scene.restart();
      scene.check();
    }
    for (const [what, count] of scene.counts) counts.set(what, (counts.get(what) ?? 0) + count);
  }
  // The runs have seen all of it.
  for (const what of ["carried", "compared", "taken", "lost", "unusable", "file", "stream"]) {
    assert.ok((counts.get(what) ?? 0) > 20, `${what}: ${counts.get(what)}`);
  }
  assert.ok([...counts.keys()].some((what) => what.startsWith("refused: ")));
  assert.ok(counts.get("carried")! > counts.get("compared")!, JSON.stringify([...counts]));
});
