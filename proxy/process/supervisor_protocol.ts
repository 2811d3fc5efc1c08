/** What the first thread and the supervisor say to each other. In and out: plain data. */
import type { Address } from "../../shared/net/address.ts";

export type ToSupervisor =
  /** First of all, once: the command line, which has been found good. */
  | {
    readonly kind: "start";
    readonly args: readonly string[];
    /** The system knows no IPv6: see `listen_addresses.ts`. */
    readonly ipv4Only: boolean;
    /** In place of what the command line names, which may be nothing. */
    readonly listenHttp: readonly Address[];
    readonly listenHttps: readonly Address[];
    /** To the thread that exports spans; null where none are made. */
    readonly exporter: MessagePort | null;
    /** To each worker; none where the supervisor carries the traffic itself. */
    readonly workers: readonly MessagePort[];
  }
  /** The worker of this port has died of an error. */
  | { readonly kind: "worker-died"; readonly worker: number; readonly message: string }
  /** To be answered by a pong. */
  | { readonly kind: "ping" }
  /** Drains, then ends; while it starts or ends it gives up. */
  | { readonly kind: "stop" };

export type FromSupervisor =
  /** Its code is loaded, and it needs the first thread's rights no more. */
  | { readonly kind: "up" }
  /** It carries the traffic itself, and nobody else notices where it hangs: it is to be pinged. */
  | { readonly kind: "serves" }
  | { readonly kind: "pong" }
  /** The worker of this port is to be ended. */
  | { readonly kind: "end-worker"; readonly worker: number }
  /** It has ended, and the process should with this code. */
  | { readonly kind: "exit"; readonly code: number };
