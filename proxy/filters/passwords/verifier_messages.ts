/** What the queue of passwords and the thread that verifies them say to each other. In and out: plain data. */

/** The id of a request that has no reply: Deno delays the first message of some threads. */
export const NO_CHECK = 0;

export interface VerifierRequest {
  readonly id: number;
  readonly hash: string;
  readonly password: string;
}

export interface VerifierReply {
  readonly id: number;
  readonly isRight: boolean;
}
