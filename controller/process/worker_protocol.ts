/** What the first thread and the controller's worker say to each other. In and out: plain data. */
import type { CredentialSource } from "../kube/credential_source.ts";

export type ToWorker =
  /** First of all, once: the command line, which has been found good, and what the environment said. */
  | {
    readonly kind: "start";
    readonly args: readonly string[];
    readonly credentials: CredentialSource;
    /** Unique to this process; a leader is known by it. */
    readonly identity: string;
  }
  /** Gives the lease back, then ends. */
  | { readonly kind: "stop" };

export type FromWorker =
  /** Its code is loaded, and it needs the first thread's rights no more. */
  | { readonly kind: "up" }
  /** It has ended, and the process should with this code. */
  | { readonly kind: "exit"; readonly code: number };
