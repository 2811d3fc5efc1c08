/**
 * Replicas that write while they lead, each a process. In: a cluster, and where the Lease is. Out:
 * processes that can be stopped, killed and frozen, and the audit of what they have written.
 */
import { join } from "node:path";
import type { TestCluster } from "./cluster.ts";
import { GuardedProcess, ProcessGuard } from "./guarded_process.ts";
import { type LeaseAudit, type LeaseScene, startAudit } from "./lease_audit.ts";

const PROGRAM = join(import.meta.dirname!, "lease_writer.ts");

/** All in ms. */
export interface WriterTimings {
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  /** From one write to the next. */
  readonly pace: number;
}

export interface LeaseWriter {
  readonly identity: string;
  readonly process: GuardedProcess;
  /** Its log so far: messages, and codes of refused writes. */
  log(): Promise<string>;
}

/** A namespace of its own, with its audit and its replicas. Disposing kills what runs. */
export class LeaseWriters {
  readonly audit: LeaseAudit;
  readonly scene: LeaseScene;
  readonly #cluster: TestCluster;
  readonly #timings: WriterTimings;
  readonly #folder: string;
  readonly #guard: ProcessGuard;
  readonly #running = new Set<GuardedProcess>();
  #started = 0;

  private constructor(
    cluster: TestCluster,
    timings: WriterTimings,
    scene: LeaseScene,
    audit: LeaseAudit,
    folder: string,
  ) {
    this.#cluster = cluster;
    this.#timings = timings;
    this.scene = scene;
    this.audit = audit;
    this.#folder = folder;
    this.#guard = new ProcessGuard(folder);
  }

  static async create(cluster: TestCluster, timings: WriterTimings): Promise<LeaseWriters> {
    const namespace = await cluster.newNamespace();
    const scene = { namespace, lease: "leader", configMap: "counter" };
    const audit = await startAudit(cluster, scene);
    const folder = await Deno.makeTempDir({ prefix: "pingress-leases-" });
    return new LeaseWriters(cluster, timings, scene, audit, folder);
  }

  /** Starts another replica, with an identity that none had before. */
  async start(kubeconfig = this.#cluster.kubeconfig): Promise<LeaseWriter> {
    const identity = `replica-${++this.#started}`;
    const log = join(this.#folder, `${identity}.log`);
    const process = new GuardedProcess(this.#guard, log);
    const flags = {
      kubeconfig,
      identity,
      namespace: this.scene.namespace,
      lease: this.scene.lease,
      "config-map": this.scene.configMap,
      "lease-duration": this.#timings.leaseDuration,
      "renew-deadline": this.#timings.renewDeadline,
      "retry-period": this.#timings.retryPeriod,
      pace: this.#timings.pace,
    };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    this.#running.add(process);
    await Deno.writeTextFile(log, "");
    await process.start(Deno.execPath(), ["run", "-A", "--no-check", PROGRAM, ...args]);
    return { identity, process, log: () => Deno.readTextFile(log) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((process) => process.stop("SIGKILL")));
    await this.audit.close();
    await this.#guard.close();
  }
}
