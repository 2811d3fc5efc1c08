/**
 * What a process is doing, as one visible state. In: transitions and reasons for not being ready.
 * Out: the state, whether traffic should come, and a call to subscribers at every change.
 *
 *     starting ──▶ ready ──▶ draining ──▶ stopped
 *         └──────────┴───────────┴───────────▲
 *
 * Only forward: a process that drains never becomes ready again.
 */

export const LIFECYCLE_STATES = ["starting", "ready", "draining", "stopped"] as const;
export type LifecycleState = typeof LIFECYCLE_STATES[number];

export type Readiness = { readonly ready: true } | {
  readonly ready: false;
  /** For people: `draining`, `starting`, `listener: the port does not answer`. */
  readonly reason: string;
};

export type LifecycleSubscriber = (state: LifecycleState, previous: LifecycleState) => void;

export class Lifecycle {
  #state: LifecycleState = "starting";
  #obstacles = new Map<string, string>();
  #subscribers = new Set<LifecycleSubscriber>();

  get state(): LifecycleState {
    return this.#state;
  }

  /**
   * Moves to a later state and tells the subscribers, in the order in which they came. Returns
   * false, and changes nothing, for the present state or an earlier one: a second SIGTERM is no
   * error.
   */
  enter(next: LifecycleState): boolean {
    const previous = this.#state;
    if (LIFECYCLE_STATES.indexOf(next) <= LIFECYCLE_STATES.indexOf(previous)) return false;
    this.#state = next;
    const errors: unknown[] = [];
    for (const subscriber of [...this.#subscribers]) {
      try {
        subscriber(next, previous);
      } catch (error) {
        errors.push(error);
      }
    }
    // Every subscriber hears of the change before the first mistake in one surfaces.
    if (errors.length > 0) throw errors[0];
    return true;
  }

  /** Makes `readiness` fail for `reason` until `clearObstacle(name)`, for example while a port is deaf. */
  setObstacle(name: string, reason: string): void {
    this.#obstacles.set(name, reason);
  }

  clearObstacle(name: string): void {
    this.#obstacles.delete(name);
  }

  /** Ready only in the state `ready` and without obstacles. */
  readiness(): Readiness {
    const obstacles = [...this.#obstacles].map(([name, reason]) => `${name}: ${reason}`);
    if (this.#state !== "ready") obstacles.unshift(this.#state);
    return obstacles.length === 0
      ? { ready: true }
      : { ready: false, reason: obstacles.join("; ") };
  }

  /** Calls `subscriber` at every later change. Returns what ends it. */
  subscribe(subscriber: LifecycleSubscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => void this.#subscribers.delete(subscriber);
  }

  /** Resolves once the state is `wanted` or a later one. */
  reached(wanted: LifecycleState): Promise<void> {
    const target = LIFECYCLE_STATES.indexOf(wanted);
    if (LIFECYCLE_STATES.indexOf(this.#state) >= target) return Promise.resolve();
    return new Promise((resolve) => {
      const end = this.subscribe((state) => {
        if (LIFECYCLE_STATES.indexOf(state) < target) return;
        end();
        resolve();
      });
    });
  }
}
