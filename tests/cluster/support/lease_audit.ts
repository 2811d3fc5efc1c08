/**
 * Who wrote while who held the lease, in the API server's own order. In: a Lease and a ConfigMap that
 * its holders write. Out: each write by one who did not hold the lease.
 *
 * Both are watched from their beginning. The order is that of resourceVersions, which one etcd counts
 * for all kinds. Every writer adds one to `data.count`, so that an event that is missing shows.
 */
import type { ApiBody, KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";

/** Where the Lease and the ConfigMap of a test are. */
export interface LeaseScene {
  readonly namespace: string;
  readonly lease: string;
  readonly configMap: string;
}

export interface LeaseAudit {
  /** Waits until all that has happened is known, and ends. */
  finish(): Promise<Findings>;
  /** What is known so far. Throws where a watch has broken. */
  findings(): Findings;
  /** Ends without a finding. */
  close(): Promise<void>;
}

export interface Findings {
  /** A line for each write without the lease. */
  readonly violations: readonly string[];
  readonly writes: readonly Write[];
  /** Holders one after another; null for a released or emptied Lease, and where it was deleted. */
  readonly holders: readonly Holding[];
}

export interface Write {
  readonly revision: number;
  readonly writer: string;
  readonly count: number;
  /** When the watch told of it, on the test's clock in ms. */
  readonly at: number;
}

export interface Holding {
  readonly revision: number;
  readonly holder: string | null;
  readonly isDeleted: boolean;
  readonly at: number;
}

interface WatchLine {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "ERROR";
  readonly object: KubeObject & {
    readonly spec?: { readonly holderIdentity?: string };
    readonly data?: { readonly writer?: string; readonly count?: string };
  };
}

/** Creates the ConfigMap, with a count of 0 and no writer, and begins to watch. */
export async function startAudit(cluster: TestCluster, scene: LeaseScene): Promise<LeaseAudit> {
  const { namespace, lease, configMap } = scene;
  const created = await cluster.create({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: configMap, namespace },
    data: { writer: "", count: "0" },
  });
  const revision = created.metadata.resourceVersion!;
  const writes: Write[] = [];
  const holders: Holding[] = [];
  let seen = Number(revision);
  const watches = await Promise.all([
    watch(cluster, ["coordination.k8s.io/v1", "Lease", namespace], revision, (line) => {
      if (line.object.metadata.name !== lease) return;
      const isDeleted = line.type === "DELETED";
      const holder = isDeleted ? null : line.object.spec?.holderIdentity || null;
      const last = holders.at(-1);
      if (last !== undefined && last.holder === holder && last.isDeleted === isDeleted) return;
      holders.push({ revision: revisionOf(line), holder, isDeleted, at: performance.now() });
    }),
    watch(cluster, ["v1", "ConfigMap", namespace], revision, (line) => {
      seen = revisionOf(line);
      const { writer = "", count } = line.object.data ?? {};
      if (line.object.metadata.name !== configMap || writer === "") return;
      writes.push({ revision: seen, writer, count: Number(count), at: performance.now() });
    }),
  ]);
  const close = async () => void await Promise.all(watches.map((watch) => watch.close()));
  const findings = () => {
    for (const watch of watches) watch.throwIfBroken();
    return { violations: violationsOf(writes, holders), writes, holders };
  };
  return {
    findings,
    close,
    finish: async () => {
      // The lease's watch has its own pace: a last record of a known kind ends each of them.
      const end = await cluster.create({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `${configMap}-end`, namespace },
      });
      await eventually("end of the watches", () => seen >= Number(end.metadata.resourceVersion));
      const last = await cluster.get("coordination.k8s.io/v1", "Lease", lease, namespace) as
        | WatchLine["object"]
        | null;
      const holder = last?.spec?.holderIdentity || null;
      await eventually("last holder", () => holders.at(-1)?.holder === holder);
      const all = findings();
      await close();
      return all;
    },
  };
}

/**
 * A deleted Lease is still its holder's, who makes it again, until another has it. One that names
 * nobody was given away.
 */
function violationsOf(writes: readonly Write[], holders: readonly Holding[]): string[] {
  const violations: string[] = [];
  const changes = holders.filter(({ isDeleted }) => !isDeleted);
  let next = 0;
  let holder: string | null = null;
  let count = 0;
  for (const write of writes) {
    while (next < changes.length && changes[next].revision < write.revision) {
      holder = changes[next++].holder;
    }
    if (write.writer !== holder) {
      violations.push(`${write.writer} wrote ${write.count} while ${holder} held the lease`);
    }
    if (write.count !== ++count) throw new Error(`${write.count} where ${count} was to come`);
  }
  return violations;
}

async function watch(
  cluster: TestCluster,
  [apiVersion, kind, namespace]: readonly [string, string, string],
  revision: string,
  onLine: (line: WatchLine) => void,
) {
  const path = await cluster.pathOf(apiVersion, kind, null, namespace);
  const query = `?watch=1&resourceVersion=${revision}`;
  const { status, body } = await cluster.open("GET", path + query);
  if (status !== 200) throw new Error(`Cannot watch ${path}: ${status}`);
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
  let problem: unknown = null;
  const reading = readLines(reader, (text) => {
    const line: WatchLine = JSON.parse(text);
    if (line.type === "ERROR") throw new Error((line.object as ApiBody).message);
    onLine(line);
  }).then(() => problem = new Error("the watch has ended"), (error) => problem = error);
  return {
    throwIfBroken: () => {
      if (problem !== null) throw problem;
    },
    close: async () => {
      await reader.cancel().catch(() => {});
      await reading;
    },
  };
}

async function readLines(
  reader: ReadableStreamDefaultReader<string>,
  onLine: (text: string) => void,
): Promise<void> {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    for (const text of lines) onLine(text);
  }
}

function revisionOf({ object }: WatchLine): number {
  return Number(object.metadata.resourceVersion);
}
