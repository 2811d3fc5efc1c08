/**
 * One upstream in force. In: its endpoints, listed or resolved from a name, as they change, and how
 * attempts at them went. Out: the endpoint for the next request, and whether it may be tried again.
 * Its turn survives changes, so that they do not send every first request to the same endpoint, and
 * so does what is known of endpoints that stay. Speaks no protocol.
 */
import type * as snapshot from "../../shared/snapshot/types.ts";
import { type Balancer, LeastRequests, RoundRobin } from "./balancer.ts";
import type { Deadlined, Deadlines } from "../io/deadlines.ts";
import type { DeniedAddresses } from "./denied_addresses.ts";
import { OutlierDetection, type OutlierLimits } from "./outlier_detection.ts";
import type { Endpoint, EndpointRegistry, Protocol } from "./endpoint.ts";
import type { PooledConnection } from "./pool.ts";
import { RetryBudget } from "./retry_budget.ts";
import type { Security } from "./tls.ts";
import { meantFor } from "./zone.ts";

/** Addresses that change by themselves: `dns.ts`. */
export interface AddressSource {
  readonly name: string;
  readonly port: number;
  current(): readonly snapshot.Endpoint[];
  /** Settles when an answer has come, or failed. */
  ready(): Promise<readonly snapshot.Endpoint[]>;
  /** What is denied has changed. */
  recheck(): void;
  close(): void;
}

export interface UpstreamContext {
  readonly limits: OutlierLimits & {
    /** Retries in percent of requests. */
    readonly retryBudget: number;
  };
  /** In ms, monotonic; a sweep behind is good enough. */
  readonly clock: { readonly now: number };
  /** For those that do not say how. */
  readonly balance: snapshot.Balance;
  /** Looks at those that have ejected endpoints, whose time ends while no request comes. */
  readonly sweeps?: Pick<Deadlines, "add" | "delete">;
  /** So many more endpoints of an upstream with these counters are ejected now; fewer, if negative. */
  readonly onEjections?: (counters: number, more: number) => void;
  /** From 0 to less than 1; `Math.random` by default. */
  readonly random?: () => number;
}

const BALANCERS = {
  "round-robin": () => new RoundRobin(),
  "least-requests": (random) => new LeastRequests(random),
} satisfies Readonly<Record<snapshot.Balance, (random: () => number) => Balancer<never>>>;

export class Upstream<C extends PooledConnection, U = unknown> implements Deadlined {
  deadlinePlace = -1;
  readonly id: string;
  /** Where attempts at it are counted; its owner's to set. */
  counters = 0;
  /** Requests of gRPC-Web are translated for it. */
  grpcWeb = false;
  readonly #registry: EndpointRegistry<C, U>;
  readonly #context: UpstreamContext;
  readonly #clock: UpstreamContext["clock"];
  #balance: snapshot.Balance = "round-robin";
  #balancer: Balancer<Endpoint<C, U>> = new RoundRobin();
  readonly #ejection: OutlierDetection<Endpoint<C, U>>;
  readonly #retries: RetryBudget;
  #source: AddressSource | null = null;
  /** Endpoints of before `#source` serve while its first answer is waited for. */
  #awaits: "nothing" | "a request" | "an answer" = "nothing";
  #listed: readonly snapshot.Endpoint[] = [];
  /** `#listed` are addresses of a name, of `#source` or of the one before. */
  #areResolved = false;
  /** All of them, and those that take their turn here: the very same list where all do. */
  #endpoints: readonly Endpoint<C, U>[] = [];
  #near: readonly Endpoint<C, U>[] = [];
  #zone: string | null = null;
  #protocol: Protocol = "http";
  #security: Security | null = null;
  #closed = false;
  #ejections = 0;
  /** Told once when it has an endpoint again, or never will. */
  readonly #waiting = new Set<(isFilled: boolean) => void>();

  constructor(id: string, registry: EndpointRegistry<C, U>, context: UpstreamContext) {
    const { limits, clock } = context;
    this.id = id;
    this.#registry = registry;
    this.#context = context;
    this.#clock = clock;
    this.#ejection = new OutlierDetection(limits, (more) => this.#ejected(more));
    this.#retries = new RetryBudget(limits.retryBudget);
  }

  /** Connections speak this and are secured like this from now on; null for plain text. */
  speak(protocol: Protocol, security: Security | null): void {
    if (protocol === this.#protocol && security?.key === this.#security?.key) return;
    this.#protocol = protocol;
    this.#security = security;
    // Those that are listed already are other endpoints from now on.
    this.#update([...this.#listed]);
  }

  /** Requests are spread like this from now on. */
  balance(balance: snapshot.Balance): void {
    if (balance === this.#balance) return;
    this.#balance = balance;
    this.#balancer = BALANCERS[balance](this.#context.random ?? Math.random);
  }

  /** Endpoints that are meant for this zone are asked from now on; null for no zone. */
  setZone(zone: string | null): void {
    if (zone === this.#zone) return;
    this.#zone = zone;
    this.#sift();
  }

  /** These are its endpoints from now on. */
  list(endpoints: readonly snapshot.Endpoint[]): void {
    this.#source?.close();
    this.#source = null;
    this.#areResolved = false;
    this.#update(endpoints);
  }

  /** Whether its endpoints are what such a source finds already. */
  follows(name: string, port: number): boolean {
    return this.#source !== null && this.#source.name === name && this.#source.port === port;
  }

  /**
   * Its endpoints are what `source` finds from now on; those of before serve until then. A name is
   * looked up when the first request comes: most of a large configuration sleeps.
   */
  resolve(source: AddressSource): void {
    this.#source?.close();
    this.#source = source;
    this.#awaits = this.#endpoints.length === 0 ? "nothing" : "a request";
    // Its addresses are looked up when somebody asks.
    this.#tell(true);
  }

  /**
   * Other addresses are denied to names from now on. Those of a name that is being replaced serve
   * until the next one is resolved, and no source checks them any more.
   */
  recheck(denied: Pick<DeniedAddresses, "has">): void {
    this.#source?.recheck();
    if (!this.#areResolved) return;
    const allowed = this.#listed.filter(({ address }) => !denied.has(address));
    if (allowed.length < this.#listed.length) this.#update(allowed);
  }

  /**
   * The next endpoint that is not in `tried`; null where there is none (yet: see `resolving`). One
   * of another zone is better than one that is left out for its failures, and that than none.
   */
  pick(tried: readonly Endpoint<C, U>[] | null): Endpoint<C, U> | null {
    if (this.#source !== null && !this.#closed) this.#follow(this.#source);
    const eligible = this.#ejection.eligible(this.#clock.now);
    const endpoint = this.#balancer.pick(eligible, tried);
    if (endpoint !== null || eligible === this.#endpoints) return endpoint;
    return this.#pickAny(tried);
  }

  /** Whether it is one of those that may be asked: what was picked before may have left since. */
  has(endpoint: Endpoint<C, U>): boolean {
    return this.#endpoints.includes(endpoint);
  }

  /** A request has come, for the budget of retries. */
  requested(): void {
    this.#retries.request(this.#clock.now);
  }

  /** Takes one retry from the budget, or says that none is left. */
  takeRetry(): boolean {
    return this.#retries.take(this.#clock.now);
  }

  /** The endpoint answered, and serves. */
  succeeded(endpoint: Endpoint<C, U>): void {
    this.#ejection.succeeded(endpoint);
  }

  /**
   * The endpoint answered that it cannot serve. For how long it is left out from now on, in ms, or
   * 0.
   */
  declined(endpoint: Endpoint<C, U>): number {
    if (this.#context.limits.ejectionAnswers > 0) {
      return this.#ejection.failed(endpoint, this.#clock.now, "gateway_error");
    }
    this.#ejection.succeeded(endpoint);
    return 0;
  }

  /** The endpoint did not answer. For how long it is left out from now on, in ms, or 0. */
  failed(endpoint: Endpoint<C, U>): number {
    return this.#ejection.failed(endpoint, this.#clock.now);
  }

  /** Whether it has an endpoint that is not in `tried`. */
  hasOther(tried: readonly Endpoint<C, U>[]): boolean {
    return !this.#endpoints.every((endpoint) => tried.includes(endpoint));
  }

  /** Whether changes of its endpoints are told: those of a list are, those behind a name are not. */
  get isTold(): boolean {
    return this.#source === null && !this.#closed;
  }

  /** It has no endpoint, and may get one. */
  get isEmpty(): boolean {
    return this.#endpoints.length === 0 && this.isTold;
  }

  /**
   * Calls `told` once when it has endpoints, be it others, or never will; the answer takes that
   * back.
   */
  whenFilled(told: (isFilled: boolean) => void): () => void {
    this.#waiting.add(told);
    return () => this.#waiting.delete(told);
  }

  /** A promise to wait for where addresses are still looked up, else null. */
  get resolving(): Promise<unknown> | null {
    return this.#source !== null && this.#endpoints.length === 0 ? this.#source.ready() : null;
  }

  /**
   * Lets go of its endpoints. Exchanges under way may still pick: what they need is there, only no
   * longer kept for others.
   */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#source?.close();
    for (const endpoint of this.#endpoints) this.#registry.release(endpoint);
    this.#ejected(-this.#ejections);
    this.#tell(false);
  }

  /** Lets endpoints take their turn again whose time is over. */
  check(): void {
    this.#ejection.eligible(this.#clock.now);
  }

  #ejected(more: number): void {
    const { sweeps, onEjections } = this.#context;
    const left = this.#ejections + more;
    // Requests under way may still fail at those of one that is closed.
    if (more === 0 || (this.#closed && left !== 0)) return;
    this.#ejections = left;
    onEjections?.(this.counters, more);
    if (left > 0) sweeps?.add(this);
    else sweeps?.delete(this);
  }

  #pickAny(tried: readonly Endpoint<C, U>[] | null): Endpoint<C, U> | null {
    const far = this.#near === this.#endpoints
      ? []
      : this.#endpoints.filter((endpoint) => !this.#near.includes(endpoint));
    return this.#balancer.pick(far, tried) ?? this.#balancer.pick(this.#endpoints, tried);
  }

  #follow(source: AddressSource): void {
    const current = source.current();
    if (current.length > 0) this.#awaits = "nothing";
    if (this.#awaits === "nothing") {
      this.#areResolved = true;
      return this.#update(current);
    }
    if (this.#awaits === "an answer") return;
    this.#awaits = "an answer";
    source.ready().then(() => {
      if (this.#source === source) this.#awaits = "nothing";
    });
  }

  #update(listed: readonly snapshot.Endpoint[]): void {
    if (listed === this.#listed) return;
    const before = this.#endpoints;
    this.#endpoints = listed.map(({ address, port }) =>
      this.#registry.acquire(address, port, this.#protocol, this.#security)
    );
    this.#listed = listed;
    this.#sift();
    for (const endpoint of before) this.#registry.release(endpoint);
    if (this.#endpoints.length > 0) this.#tell(true);
  }

  #tell(isFilled: boolean): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const told of waiting) told(isFilled);
  }

  #sift(): void {
    const meant = meantFor(this.#zone, this.#listed);
    this.#near = meant === null ? this.#endpoints : this.#endpoints.filter((_, i) => meant[i]);
    this.#ejection.list(this.#near);
  }
}
