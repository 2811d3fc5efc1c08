/** What `deno task dev` shows of itself. In: nothing. Out: the type that its formats share. */
import type { LineOutput } from "../../shared/log.ts";
import type { Listeners } from "../report.ts";
import type { Served } from "../serving.ts";

/** What listens, and for what. */
export interface Start {
  /** Folders and files, as the user named them. */
  readonly paths: readonly string[];
  readonly listeners: Listeners;
  /** Added to ports by `--port-offset`. */
  readonly portOffset: number;
}

/** Each method writes before it returns, or gives it to the output of this process. */
export interface Display {
  /** All listeners accept, and this is served. */
  started(start: Start, served: Served): void;
  /** @param duration From the notice of the change until requests met it, in ms. */
  changed(before: Served, after: Served, listeners: Listeners, duration: number): void;
  stopped(): void;
  /**
   * For the access log of `--tap`.
   * @param reasonOf Why a route responds itself, by its id; null where it does not.
   */
  tap(reasonOf: (route: string) => string | null): LineOutput;
}
