/**
 * What keeps sockets of listeners closed, as a proxy reports it to the controller. In: nothing. Out:
 * the type, and how many of them a report holds. Apart from `messages.ts`, whose readers load the
 * schema of snapshots, which workers of the proxy do not need.
 */

/** A socket of listeners that a proxy cannot open, or that does not answer. */
export interface SocketObstacle {
  /** As `Listener.socket` of the snapshot has it. */
  readonly socket: string;
  /** One clause with the remedy. */
  readonly reason: string;
}

/** Obstacles in a report at most, so that it fits `MAX_REPORT_BYTES`. */
export const MAX_OBSTACLES = 512;
