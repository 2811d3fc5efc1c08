/**
 * Several replicas of the controller, each with a gateway of its own. In: a scene. Out: processes that
 * come and go, and a record of all that they wrote: each write against who held the lease when the API
 * server carried it out.
 *
 * The order is that of resourceVersions, which one etcd counts for all kinds.
 */
import { STREAM } from "../../../controller/outputs/workload/names.ts";
import { type ApiGateway, type RecordedRequest, startGateway } from "./api_gateway.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import { compareRevisions } from "../../../controller/kube/revision.ts";
import type { SnapshotVersion } from "../../../shared/snapshot/types.ts";
import { ControllerProcess } from "./controller_process.ts";
import type { ControllerScene } from "./controller_scene.ts";

export const WRITES = ["create", "update", "patch", "delete", "deletecollection"] as const;

/** One that the API server has carried out. */
export interface ReplicaWrite {
  /** The name of the replica. */
  readonly replica: string;
  /** `patch configmaps pingress-config-v2`. */
  readonly what: string;
  readonly resource: string;
  readonly name: string;
  /** Null where the answer does not tell, as of some deletions. */
  readonly revision: number | null;
  /** When the answer came, in ms since the epoch. */
  readonly time: number;
  /** Of the index, `pingress-config-v2`, alone. */
  readonly version: SnapshotVersion | null;
}

/** A write that is kept back. */
export interface HeldWrite {
  /** Whether it is kept back already. */
  readonly isReached: boolean;
  /** What the API server answered; null before. */
  readonly status: number | null;
  /** Lets it go on. */
  release(): void;
}

type Holding =
  & Readonly<{
    replica: Replica;
    resource: string;
    when: "before" | "after";
    released: PromiseWithResolvers<void>;
  }>
  & { isReached: boolean; status: number | null };

/** From one change of the Lease to the next. */
export interface Term {
  readonly revision: number;
  /** Null when the lease was released. */
  readonly replica: string | null;
  /** When the answer came, in ms since the epoch. */
  readonly time: number;
}

/** A replica's place: a process may end there and another begin. */
export class Replica {
  process: ControllerProcess | null = null;
  isPaused = false;

  constructor(
    readonly name: string,
    readonly gateway: ApiGateway,
    readonly kubeconfig: string,
    readonly flags: readonly string[],
  ) {}

  /** Starts one that nothing waits for. */
  async spawn(): Promise<ControllerProcess> {
    const { kubeconfig, flags: args } = this;
    return this.process = await ControllerProcess.spawn({ kubeconfig, args });
  }

  async start(): Promise<ControllerProcess> {
    const process = await this.spawn();
    await process.ready();
    return process;
  }

  async kill(): Promise<void> {
    this.isPaused = false;
    await this.process?.kill();
    this.process = null;
  }

  async stop(): Promise<void> {
    this.resume();
    await this.process?.stop();
    this.process = null;
  }

  pause(): void {
    this.process?.pause();
    this.isPaused = this.process !== null;
  }

  /** Throws where the process has ended without being asked to. */
  assertAlive(): void {
    if (this.process === null || this.process.code === null) return;
    const said = [...this.process.lines.map((line) => JSON.stringify(line)), ...this.process.noise];
    throw new Error(
      `${this.name} has ended with ${this.process.code}:\n${said.slice(-10).join("\n")}`,
    );
  }

  resume(): void {
    if (this.isPaused) this.process?.resume();
    this.isPaused = false;
  }
}

export class Replicas {
  readonly writes: ReplicaWrite[] = [];
  /** All that was written into the Lease. */
  readonly renewals: Term[] = [];
  readonly #held: Holding[] = [];
  /** Writes that are on their way. */
  #open = 0;

  private constructor(readonly scene: ControllerScene, readonly all: readonly Replica[]) {}

  /** Places for so many, `a`, `b` and so on; no process runs yet. */
  static async prepare(scene: ControllerScene, count: number): Promise<Replicas> {
    const { cluster } = scene;
    const places = await Promise.all(Array.from({ length: count }, async (_, i) => {
      const gateway = await startGateway(cluster);
      const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
      return new Replica(String.fromCharCode(97 + i), gateway, kubeconfig, scene.flags);
    }));
    const replicas = new Replicas(scene, places);
    for (const { name, gateway } of places) {
      gateway.inject(
        { verb: WRITES },
        (request, forward) => replicas.#record(name, request as RecordedRequest, forward),
      );
    }
    return replicas;
  }

  get running(): readonly ControllerProcess[] {
    return this.all.flatMap(({ process }) => process ?? []);
  }

  /** The replica that holds the lease, by its own word; waits until there is one. */
  async leader(): Promise<Replica> {
    return await eventually("leader", async () => {
      const { spec } = await this.lease() ?? {};
      const identity = spec?.holderIdentity;
      return this.all.find(({ process }) =>
        process !== null && identity !== undefined && identityOf(process) === identity
      );
    });
  }

  async lease() {
    return await this.scene.cluster.get<KubeObject & LeaseSpec>(
      "coordination.k8s.io/v1",
      "Lease",
      "pingress-controller",
      this.scene.system,
    );
  }

  /** How often the lease changed hands. */
  get terms(): number {
    return this.renewals.filter(({ replica }, i) =>
      replica !== null && replica !== this.renewals[i - 1]?.replica
    ).length;
  }

  /** Keeps the next write of a kind of what is published back, before the API server has it or when it is done. */
  hold(replica: Replica, resource: string, when: "before" | "after"): HeldWrite {
    const released = Promise.withResolvers<void>();
    const held: Holding = { replica, resource, when, released, isReached: false, status: null };
    this.#held.push(held);
    return {
      get isReached() {
        return held.isReached;
      },
      get status() {
        return held.status;
      },
      release: () => released.resolve(),
    };
  }

  /** A line for each kind of which an older version was published after a newer one. */
  steps(): string[] {
    const indexes = this.writes.filter(({ version }) => version !== null)
      .toSorted((a, b) => a.revision! - b.revision!);
    return indexes.slice(1).flatMap(({ version, what }, i) =>
      Object.entries(indexes[i].version!.seen)
        .filter(([kind, seen]) => compareRevisions(version!.seen[kind] ?? "0", seen) < 0)
        .map(([kind, seen]) => `${what}: ${kind} ${version!.seen[kind]} after ${seen}`)
    );
  }

  /** A line for each write by one who did not hold the lease, once none is on its way. */
  async violations(): Promise<string[]> {
    await eventually("end of writes", () => this.#open === 0);
    const renewals = this.renewals.toSorted((a, b) => a.revision - b.revision);
    return this.writes.flatMap(({ replica, what, revision }) => {
      if (revision === null) return [];
      const holder = renewals.findLast((renewal) => renewal.revision < revision)?.replica ?? null;
      return holder === replica
        ? []
        : [`${replica}: ${what} (${revision}) while ${holder ?? "nobody"} held the lease`];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((replica) => replica.kill()));
    await Promise.all(this.all.map(({ gateway }) => gateway.close()));
  }

  async #record(
    replica: string,
    request: RecordedRequest,
    forward: () => Promise<Response>,
  ): Promise<Response> {
    this.#open++;
    try {
      // An apply that changes nothing answers with what stood there before.
      const before = await revisionNow(this.scene.cluster);
      const held = this.#held.find((one) =>
        !one.isReached && one.replica.name === replica && one.resource === request.resource &&
        // The stream's authority is made beside what is published, now before it and now after.
        request.name !== STREAM.authority
      );
      if (held !== undefined) held.isReached = true;
      if (held?.when === "before") await held.released.promise;
      const response = await forward();
      const text = await response.text();
      const { status, headers } = response;
      if (held !== undefined) held.status = status;
      if (response.ok) this.#take(replica, request, before, JSON.parse(text));
      if (held?.when === "after") await held.released.promise;
      return new Response(text, { status, headers });
    } finally {
      this.#open--;
    }
  }

  #take(replica: string, request: RecordedRequest, before: number, object: Written): void {
    const { verb, resource, subresource } = request;
    const name = object.metadata?.name ?? request.name;
    const version = object.metadata?.resourceVersion;
    const revision = version === undefined ? null : Number(version);
    const time = Date.now();
    if (revision !== null && revision <= before) return;
    if (resource === "leases") {
      const isHeld = Boolean(object.spec?.holderIdentity);
      this.renewals.push({ revision: revision!, replica: isHeld ? replica : null, time });
      return;
    }
    const what = [verb, subresource === "" ? resource : `${resource}/${subresource}`, name];
    this.writes.push({
      replica,
      what: what.join(" "),
      resource,
      name,
      revision,
      time,
      version: name === "pingress-config-v2" && object.data !== undefined
        ? JSON.parse(object.data["proxy-v2.json"]).version
        : null,
    });
  }
}

interface LeaseSpec {
  readonly spec?: { readonly holderIdentity?: string };
}

type Written = LeaseSpec & {
  readonly data?: Readonly<Record<string, string>>;
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
};

/** As the lease names it; `Leading` tells. */
function identityOf({ lines }: ControllerProcess): string | undefined {
  return lines.findLast(({ message }) => message === "Leading")?.identity as string | undefined;
}

/** Of etcd, by a consistent read of a kind of which there is little. */
async function revisionNow(cluster: TestCluster): Promise<number> {
  const { body } = await cluster.request("GET", "/api/v1/persistentvolumes?limit=1");
  return Number(body.metadata?.resourceVersion);
}
