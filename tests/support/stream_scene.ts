/**
 * `SnapshotSources` in this process, on a folder and a controller of their own. In: how the folder
 * is filled. Out: the snapshots that are applied, and what is logged.
 */
import { SnapshotSources, type SnapshotSourcesOptions } from "../../proxy/process/sources.ts";
import { parseControllerUrl } from "../../proxy/config/stream/controller_address.ts";
import { ReconnectPace } from "../../proxy/config/stream/backoff.ts";
import type { LogFields, Logger } from "../../shared/log.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { type Answer, MisbehavingController } from "./misbehaving_controller.ts";
import { snapshotOf } from "./test_proxy.ts";

/** A snapshot that has seen this much, and has a route for each host. */
export function seeing(revision: number, hosts: readonly string[] = ["a.test"]): Snapshot {
  const base = snapshotOf([8080]);
  return {
    ...base,
    version: { epoch: "cluster", seen: { Ingress: String(revision) } },
    routes: hosts.map((host) => ({ ...base.routes[0], id: `${host} Prefix /`, host })),
  };
}

export interface LoggedLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

export class StreamScene {
  readonly controller: MisbehavingController;
  readonly sources: SnapshotSources;
  readonly folder: string;
  /** Those that were applied, in order. */
  readonly applied: Snapshot[] = [];
  readonly lines: LoggedLine[] = [];
  readonly zones: string[] = [];
  /** What is waited for, as readiness tells it. */
  lacks = "";
  refused = 0;
  /** Is awaited by each application. */
  gate: Promise<void> = Promise.resolve();
  /** Is thrown by each application. */
  fault: Error | null = null;

  private constructor(
    controller: MisbehavingController,
    folder: string,
    options: Partial<SnapshotSourcesOptions>,
  ) {
    this.controller = controller;
    this.folder = folder;
    const record = (level: string) => (message: string, fields: LogFields = {}) => {
      this.lines.push({ level, message, fields });
    };
    const log: Logger = {
      debug: record("debug"),
      info: record("info"),
      warn: record("warn"),
      error: record("error"),
    };
    this.sources = new SnapshotSources({
      file: `${folder}/proxy.json`,
      watch: [],
      clusterDomain: "cluster.local",
      maxRouteLoss: 0,
      controller: {
        address: parseControllerUrl(controller.url)!,
        ca: controller.caFile,
        token: controller.tokenFile,
      },
      log,
      apply: (snapshot) => {
        if (this.fault !== null) throw this.fault;
        this.applied.push(snapshot);
        return this.gate;
      },
      onRefused: () => this.refused++,
      onNone: (reason) => this.lacks = reason,
      onZone: (zone) => this.zones.push(zone),
      ...options,
      stream: {
        pace: new ReconnectPace(() => 0.01),
        ...options.stream,
        times: { silence: 2_000, ...options.stream?.times },
      },
    });
  }

  /** @param file what the file holds, or how the folder is filled; null for nothing in it. */
  static async start(
    file: Snapshot | ((folder: string) => void) | null = null,
    options: Partial<SnapshotSourcesOptions> = {},
    answer: Answer = () => null,
  ): Promise<StreamScene> {
    const controller = await MisbehavingController.start();
    controller.answer = answer;
    const folder = await Deno.makeTempDir();
    const scene = new StreamScene(controller, folder, options);
    if (typeof file === "function") file(folder);
    else if (file !== null) scene.write(file);
    await scene.sources.load();
    scene.sources.start();
    return scene;
  }

  /** Puts a file in place, as a mounted volume would: at once. */
  write(snapshot: Snapshot): void {
    const text = serialiseSnapshot(snapshot, { revealKeys: true });
    Deno.writeTextFileSync(`${this.folder}/proxy.json.new`, text);
    Deno.renameSync(`${this.folder}/proxy.json.new`, `${this.folder}/proxy.json`);
  }

  /** Of those applied, what each has seen. */
  get revisions(): number[] {
    return this.applied.map(({ version }) => Number(version.seen.Ingress));
  }

  /** Reasons why there was no stream, as they were logged. */
  get failures(): string[] {
    return this.lines
      .filter(({ message }) => message === "No stream from the controller")
      .map(({ fields }) => String(fields.reason));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sources.stop();
    await this.controller[Symbol.asyncDispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Waits until `condition` holds; fails after ten seconds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resume) => setTimeout(resume, 5));
  }
}
