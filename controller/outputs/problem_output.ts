/**
 * What users and operators are told of problems. In: all problems of a moment. Out: Events, and lines
 * of the log, for each that is new or gone.
 */
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import type { WriteClient } from "../kube/fenced_client.ts";
import type { KubeObject } from "../kube/types.ts";
import { ProblemLog } from "../problems/log.ts";
import { unknownClasses } from "../problems/unknown_class.ts";
import type { Reconciliation } from "../reconcile/reconciler.ts";
import { EventWriter } from "./events/writer.ts";
import type { Output, OutputContext } from "./output.ts";

/** An Event changes nothing, so none is too late. */
const ALWAYS = { mayWrite: () => true };

/** Milliseconds in which all proxies may have answered. */
const HEARING = 500;

export interface ProblemSources {
  /** For what every replica reports, whether or not it leads. */
  readonly ownClient: WriteClient;
  /** Of this replica. */
  readonly identity: string;
  /** Of publishing and of the proxies; some have no object. */
  readonly own: () => readonly Problem[];
  /** Of Gateway API: users find them as conditions in the status, so there are no Events of them. */
  readonly gateways: () => readonly Problem[];
  /** What the proxies of our stream refuse: another replica knows nothing of it. */
  readonly refusals: () => readonly Problem[];
  /** The proxies' object, which stands for those that have none. */
  readonly workload: ObjectRef;
  readonly live: () => KubeObject | null;
  /** Called with each report: the status of Ingresses goes with it. */
  readonly onReport: () => void;
}

export class ProblemOutput implements Output {
  readonly #context: OutputContext;
  readonly #sources: ProblemSources;
  readonly #log: ProblemLog;
  readonly #events: EventWriter;
  /** Written by each replica, as only it knows of the proxies on its stream. */
  readonly #ownEvents: EventWriter;
  #result: Reconciliation | null = null;
  #classProblems: readonly Problem[] = [];
  /** Problems of publishing and of the proxies, as they were when they were last reported. */
  #reported = "";
  #reporting: ReturnType<typeof setTimeout> | undefined;
  /** Null when it has ended. */
  #hearing: ReturnType<typeof setTimeout> | undefined | null;

  constructor(context: OutputContext, sources: ProblemSources) {
    this.#context = context;
    this.#sources = sources;
    const { client, fence, watches, log } = context;
    const { identity, ownClient } = sources;
    const events = { subjects: watches.subjects(), instance: identity.split("_")[0], log };
    this.#events = new EventWriter({ ...events, client, fence });
    this.#ownEvents = new EventWriter({ ...events, client: ownClient, fence: ALWAYS });
    this.#log = new ProblemLog(log);
  }

  /** Writes that wait. */
  get backlog(): number {
    return this.#events.backlog;
  }

  /** Of objects, of publishing and of the proxies. */
  all(): readonly Problem[] {
    return [...this.#shared(), ...this.#sources.gateways(), ...this.#sources.refusals()];
  }

  observe(result: Reconciliation): void {
    this.#result = result;
    const { watches, options } = this.#context;
    this.#classProblems = unknownClasses(
      watches.informer("ingresses").store.list(),
      watches.informer("ingressClasses").store.list(),
      options.ingressClasses,
    );
    this.changed();
  }

  /** What any source gives may have changed. */
  changed(): void {
    // After what begins to be published now: going through all objects takes a while.
    clearTimeout(this.#reporting);
    this.#reporting = setTimeout(() => this.#report(), 0);
  }

  /** What proxies say of what they were sent may have changed. */
  streamChanged(): void {
    if (this.#hearing !== undefined) return;
    this.#hearing = setTimeout(() => {
      this.#hearing = undefined;
      this.reportNews();
    }, HEARING);
  }

  /**
   * Reports problems of publishing and of the proxies, if they are others than before, or have an
   * object by now: an Event needs it, and a watch may show it later than its problem is known.
   */
  reportNews(): void {
    const uid = this.#sources.live()?.metadata.uid ?? null;
    const news = JSON.stringify([uid, ...this.#own(), ...this.#sources.refusals()]);
    if (news !== this.#reported) this.#report();
    this.#reported = news;
  }

  forget(): void {
    this.#reported = "";
  }

  wake(): void {
    this.#report();
  }

  measure(): void {
    this.#context.metrics.problems(this.all());
  }

  async stop(): Promise<void> {
    clearTimeout(this.#reporting);
    clearTimeout(this.#hearing ?? undefined);
    this.#hearing = null;
    await Promise.all([this.#events.close(), this.#ownEvents.close()]);
  }

  /** Those that every replica finds, so that the leader reports them. */
  #shared(): Problem[] {
    return [...this.#result?.problems ?? [], ...this.#classProblems, ...this.#own()];
  }

  /** One that is of no object, or of one that is not there, can have no Event. */
  #own(): Problem[] {
    const { own, workload } = this.#sources;
    return own().map((problem) => ({ ...problem, object: problem.object ?? workload }));
  }

  #report(): void {
    const shared = this.#shared();
    const refusals = this.#sources.refusals();
    if (this.#context.fence.mayWrite()) {
      this.#log.update([...shared, ...this.#sources.gateways(), ...refusals]);
    }
    this.#events.sync(shared);
    this.#ownEvents.sync(refusals);
    this.#sources.onReport();
  }
}
