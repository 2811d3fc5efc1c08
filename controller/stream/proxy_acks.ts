/**
 * What proxies have acknowledged. In: the sessions of this replica. Out: for each proxy the content that is
 * in force, and the sockets that it could not open; other replicas get it as it is.
 */
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import type { Session } from "./session.ts";

/** A socket of the snapshot's listeners that is not bound. */
export interface SocketObstacle {
  /** `Listener.socket`. */
  readonly socket: string;
  /** For people: `EADDRINUSE`. */
  readonly reason: string;
}

/** What one proxy has in force. */
export interface ProxyAck {
  /** Of its pod; null for a token that is bound to none. */
  readonly podUid: string | null;
  /** An IP address. */
  readonly peer: string;
  readonly version: SnapshotVersion | null;
  /** Content hash. */
  readonly hash: string | null;
  readonly obstacles: readonly SocketObstacle[];
}

/** What is read of a session. */
export type AckSession = Pick<Session, "identity" | "peer" | "inForce"> & {
  /** As the proxy reported them last; missing where it reports none. */
  readonly obstacles?: readonly SocketObstacle[];
};

export function acksOf(sessions: readonly AckSession[]): ProxyAck[] {
  return sessions.map((
    { identity: { podUid }, peer, inForce: { version, hash }, obstacles = [] },
  ) => ({
    ...{ podUid, peer, version, hash, obstacles },
  }));
}
