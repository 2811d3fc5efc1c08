/**
 * What goes on beside a load, and is part of what is measured: clients that trickle, changes of the
 * configuration. In: a running proxy. Out: something that goes on until it is stopped, with what
 * failed of it.
 */
import { type Case } from "./case.ts";
import { type Child } from "./child.ts";
import { type Peer, type Setup } from "./peer.ts";
import { type Target } from "./target.ts";

/** A proxy that is being measured. */
export interface Running {
  readonly peer: Peer;
  readonly child: Child;
  /** What it was started with; its folder holds its configuration. */
  readonly setup: Setup;
  readonly target: Target;
}

export interface Beside {
  /** Resolves once it goes on as it should: all clients connected. Throws where it cannot. */
  start(running: Running, what: Case): Promise<Ongoing>;
}

export interface Ongoing {
  /** Ends it, after the proxy's time and memory have been looked at; what of it has failed. */
  stop(): Promise<{ readonly errors: number }>;
}
