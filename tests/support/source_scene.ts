/**
 * A `FileSource` on a folder of its own. In: how the folder is filled. Out: the snapshots that
 * come, and what is logged.
 */
import assert from "node:assert/strict";
import { ActiveSnapshot } from "../../proxy/config/active_snapshot.ts";
import { FileSource, type FileSourceOptions } from "../../proxy/config/file_source.ts";
import type { Logger } from "../../shared/log.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";

/** A configuration whose one route has this host. */
export function config(host: string, tls?: { cert: string; key: string }): string {
  return JSON.stringify({
    rules: [{
      host,
      path: { type: "Prefix", path: "/" },
      backend: { type: "Service", name: "web", namespace: "default", port: 80 },
      tls,
    }],
  });
}

export interface Scene {
  /** A new folder. */
  readonly folder: string;
  readonly source: FileSource;
  /** Hosts of the snapshots that came, in order. */
  readonly hosts: string[];
  readonly snapshots: Snapshot[];
  /** `level message problem` of each event. */
  readonly events: string[];
}

/**
 * A source on `proxy.json` in a new folder that `prepare` fills; removed after `run`. Polling is
 * off (an hour) unless a test asks for it, so that what it sees are the system's events.
 */
export async function scene(
  prepare: (folder: string) => void,
  run: (scene: Scene) => Promise<void>,
  options: (folder: string) => Partial<FileSourceOptions & { maxRouteLoss: number }> = () => ({}),
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  const hosts: string[] = [];
  const snapshots: Snapshot[] = [];
  const events: string[] = [];
  const record = (level: string) => (message: string, fields?: Record<string, unknown>) => {
    events.push(`${level} ${message}${fields?.problem === undefined ? "" : `: ${fields.problem}`}`);
  };
  const log: Logger = {
    debug: record("debug"),
    info: record("info"),
    warn: record("warn"),
    error: record("error"),
  };
  prepare(folder);
  const { maxRouteLoss = 0, ...others } = options(folder);
  const inForce = new ActiveSnapshot({
    maxRouteLoss,
    hasStream: false,
    memory: null,
    apply(snapshot) {
      snapshots.push(snapshot);
      hosts.push(snapshot.routes[0]?.host ?? "none");
      return Promise.resolve();
    },
  });
  const source = new FileSource({
    file: `${folder}/proxy.json`,
    watch: [],
    log,
    objectionTo: (snapshot) => inForce.objectionToFile(snapshot),
    onSnapshot: (snapshot) => inForce.takeFile(snapshot),
    settle: 5,
    poll: 3_600_000,
    ...others,
  });
  try {
    await run({ folder, source, hosts, snapshots, events });
  } finally {
    await source.stop();
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Waits until `condition` holds; fails after five seconds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `waited in vain until ${what}`);
    await new Promise((resume) => setTimeout(resume, 5));
  }
}

/** Long enough for what should not happen to have happened: many times `settle`. */
export function meanwhile(): Promise<void> {
  return new Promise((resume) => setTimeout(resume, 150));
}

/** Loads, starts, and waits until the folder is watched. */
export async function begin({ source, folder, hosts }: Scene): Promise<void> {
  const result = await source.load();
  assert.equal(result.ok, true);
  source.start();
  // The watch is there when a change is seen.
  Deno.writeTextFileSync(`${folder}/proxy.json`, config("watched"));
  await until(() => hosts.at(-1) === "watched", "the folder is watched");
  hosts.length = 0;
}
