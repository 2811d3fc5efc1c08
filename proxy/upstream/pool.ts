/**
 * Idle connections to one endpoint. In: connections that may serve again. Out: the one that was used
 * last (its window is open and its caches are warm, and the others may age out). Knows no protocol.
 */

/** What the pool needs to know of a connection. */
export interface PooledConnection {
  /** Set by the pool: called when the connection closes by itself while idle. */
  onIdleClose: (() => void) | null;
  /** In ms, monotonic. */
  readonly openedAt: number;
  close(): void;
}

export class Pool<C extends PooledConnection> {
  readonly #idle: C[] = [];
  readonly #maxIdle: number;
  readonly #maxAge: number;
  #closed = false;

  /** @param maxAge of a connection, in ms, past which it is not used again; 0 for no limit. */
  constructor(maxIdle: number, maxAge: number) {
    this.#maxIdle = maxIdle;
    this.#maxAge = maxAge;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  /** Makes a new connection one of this pool's, so that it leaves by itself when it closes. */
  adopt(connection: C): void {
    const closed = () => this.#forget(connection);
    connection.onIdleClose = closed;
  }

  /** An idle connection, no longer in the pool, or null. `now` in ms, monotonic. */
  take(now: number): C | null {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return null;
      if (!this.#isOld(connection, now)) return connection;
      connection.close();
    }
  }

  /** Keeps a connection that is idle now, or closes it: too many, too old, or the pool is closed. */
  give(connection: C, now: number): void {
    if (this.#closed || this.#isOld(connection, now)) {
      connection.close();
      return;
    }
    this.#idle.push(connection);
    // The one that was idle longest goes.
    if (this.#idle.length > this.#maxIdle) this.#idle.shift()?.close();
  }

  /** Closes the idle connections, and each of the others when it is given back. */
  close(): void {
    this.#closed = true;
    this.closeIdle();
  }

  closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.close();
  }

  #isOld(connection: C, now: number): boolean {
    return this.#maxAge !== 0 && now - connection.openedAt > this.#maxAge;
  }

  #forget(connection: C): void {
    const index = this.#idle.indexOf(connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }
}
