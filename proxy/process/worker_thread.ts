/**
 * The threads of workers, as the supervisor sees them. In: messages for a worker. Out: its messages, and its
 * end.
 *
 * Those of the start are started by the first thread, beside the supervisor; one that replaces a worker is
 * started by the supervisor, as the first thread has dropped its rights by then. Deno 2.9 takes a second
 * longer for the latter: every worker has an inspector session of the main thread's, which makes those that
 * it starts wait for a debugger, half a second each before their code and before their first message
 * (`wait_for_page_wait_for_debugger` and `wait_for_debugger_enabled_for_worker_message` in
 * libs/core/inspector.rs, denoland/deno#35629).
 */
import { WORKER_RIGHTS } from "../cli/permissions.ts";
import type { FromWorker, ToWorker } from "./worker_protocol.ts";

/** The part of a Worker that is needed. */
export interface WorkerThread {
  onmessage: ((event: MessageEvent<FromWorker>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(message: ToWorker): void;
  terminate(): void;
}

/** Starts a thread of this one's. */
export function startWorkerThread(module: URL): WorkerThread {
  return new Worker(module, { type: "module", deno: { permissions: WORKER_RIGHTS } });
}

/** A thread that the first one has started. */
export class LinkedThread implements WorkerThread {
  #onerror: WorkerThread["onerror"] = null;
  /** Why it has died, until somebody is told. */
  #death: string | null = null;
  readonly #port: MessagePort;
  readonly #end: () => void;

  /**
   * @param port to the worker.
   * @param end asks the first thread to end it.
   */
  constructor(port: MessagePort, end: () => void) {
    this.#port = port;
    this.#end = end;
  }

  set onmessage(listener: WorkerThread["onmessage"]) {
    this.#port.onmessage = listener;
  }

  postMessage(message: ToWorker): void {
    this.#port.postMessage(message);
  }

  /** Who listens after its death is told of it, as soon as they have finished what they do. */
  set onerror(listener: WorkerThread["onerror"]) {
    this.#onerror = listener;
    queueMicrotask(() => this.#report());
  }

  /** The first thread says that it has died of an error, maybe before a worker uses it. */
  died(message: string): void {
    this.#death = message;
    this.#report();
  }

  terminate(): void {
    this.#port.close();
    this.#end();
  }

  #report(): void {
    if (this.#death === null || this.#onerror === null) return;
    const event = new ErrorEvent("error", { message: this.#death, cancelable: true });
    this.#death = null;
    this.#onerror(event);
  }
}
