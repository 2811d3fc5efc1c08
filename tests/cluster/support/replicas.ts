/**
 * Several replicas of the controller, each with a gateway of its own. In: a scene. Out: processes that
 * come and go, and a record of all that they wrote: each write against who held the lease when the API
 * server carried it out.
 *
 * The order is that of resourceVersions, which one etcd counts for all kinds.
 */
import { type ApiGateway, type RecordedRequest, startGateway } from "./api_gateway.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import { ControllerProcess } from "./controller_process.ts";
import type { ControllerScene } from "./controller_scene.ts";
import type { Answer } from "./gateway_answers.ts";

export const WRITES = ["create", "update", "patch", "delete", "deletecollection"] as const;

/** One that the API server has carried out. */
export interface ReplicaWrite {
  /** The name of the replica. */
  readonly replica: string;
  /** `patch configmaps pingress-config`. */
  readonly what: string;
  readonly resource: string;
  readonly name: string;
  /** Null where the answer does not tell, as of some deletions. */
  readonly revision: number | null;
}

interface Holding {
  readonly revision: number;
  /** Null when the lease was released. */
  readonly replica: string | null;
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

  resume(): void {
    if (this.isPaused) this.process?.resume();
    this.isPaused = false;
  }
}

export class Replicas {
  readonly writes: ReplicaWrite[] = [];
  readonly #holdings: Holding[] = [];
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
    return this.#holdings.filter(({ replica }, i) =>
      replica !== null && replica !== this.#holdings[i - 1]?.replica
    ).length;
  }

  /** A line for each write by one who did not hold the lease, once none is on its way. */
  async violations(): Promise<string[]> {
    await eventually("end of writes", () => this.#open === 0);
    const holdings = this.#holdings.toSorted((a, b) => a.revision - b.revision);
    return this.writes.flatMap(({ replica, what, revision }) => {
      if (revision === null) return [];
      const holder = holdings.findLast((holding) => holding.revision < revision)?.replica ?? null;
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
      const response = await forward();
      const text = await response.text();
      const { status, headers } = response;
      if (response.ok) this.#take(replica, request, before, JSON.parse(text));
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
    if (revision !== null && revision <= before) return;
    if (resource === "leases") {
      const isHeld = Boolean(object.spec?.holderIdentity);
      this.#holdings.push({ revision: revision!, replica: isHeld ? replica : null });
      return;
    }
    const what = [verb, subresource === "" ? resource : `${resource}/${subresource}`, name];
    this.writes.push({ replica, what: what.join(" "), resource, name, revision });
  }
}

interface LeaseSpec {
  readonly spec?: { readonly holderIdentity?: string };
}

type Written = LeaseSpec & {
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

/** Keeps an answer back that the API server has given, or has not, until the promise settles. */
export function heldAnswer(released: Promise<unknown>, isDone: boolean): Answer {
  return async (_request, forward) => {
    if (!isDone) await released;
    const response = await forward();
    if (isDone) await released;
    return response;
  };
}
