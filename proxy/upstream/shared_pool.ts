/**
 * Open connections to one endpoint that each carry many uses at a time. In: connections, as they are
 * opened, as room on them comes and goes, and as they leave. Out: a use of one that has room, at once
 * or when there is one. Knows no protocol.
 *
 * The first with room is taken, so that those beyond need fall idle and close. However many wait,
 * they are one reason to open a connection: what it takes is not known before it is open.
 */

/** What the pool needs to know of a connection. */
export interface SharedConnection<U> {
  /** Uses that it takes now, besides those under way; 0 once it takes no more. */
  readonly room: number;
  /** Uses that it takes at a time, as far as it has said. */
  readonly limit: number;
  /** In ms, monotonic. */
  readonly openedAt: number;
  /** It takes no more, ever. */
  readonly isLeaving: boolean;
  /** Set by the pool: called when there may be room, and when it leaves. */
  onChange: (() => void) | null;
  /** Begins a use; only where there is room. */
  open(): U;
  /** Takes no more, and closes once those under way have ended. */
  leave(): void;
  /** No use is under way. */
  readonly isIdle: boolean;
}

/** Opens a connection; null where what came is none that can be shared. */
export type Opener<U> = () => Promise<SharedConnection<U> | null>;

/** A wait for a use. */
export interface Waiting<U> {
  /** The use; null where what was opened cannot be shared. Rejects as the opener, or as cancelled. */
  readonly promise: Promise<U | null>;
  /** Ends the wait, unless it has ended: the promise rejects with `error`. */
  cancel(error: unknown): void;
}

/** Connections that are opened at a time, where more wait than one will take. */
const MAX_OPENING = 8;

/** Connections in a row that end without having taken anything, before those who wait are told. */
const MAX_FUTILE = 3;

/** After one that was opened ahead of need has failed, none is for so long, in ms. */
const PREPARE_PAUSE = 1_000;

export class SharedPool<U> {
  readonly #connections: SharedConnection<U>[] = [];
  readonly #waiters = new Set<PromiseWithResolvers<U | null>>();
  readonly #maxAge: number;
  #opening = 0;
  /** What the last connection took at a time: how many more are needed. */
  #usualLimit = Infinity;
  /** Connections in a row that took nothing. */
  #futile = 0;
  /** Before this moment none is opened ahead of need, in ms. */
  #preparesFrom = 0;
  #closed = false;

  /** @param maxAge of a connection, in ms, past which it takes no more; 0 for no limit. */
  constructor(maxAge: number) {
    this.#maxAge = maxAge;
  }

  /** Connections that take more. */
  get size(): number {
    return this.#connections.length;
  }

  get idleCount(): number {
    let count = 0;
    for (const connection of this.#connections) if (connection.isIdle) count++;
    return count;
  }

  /** Uses that are waited for. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** A use of an open connection, or null: there is none with room, or others wait. `now` in ms. */
  take(now: number): U | null {
    return this.#waiters.size > 0 ? null : this.#take(now);
  }

  /** Waits for a use: of a connection that is there, or of one that `open` opens. */
  wait(open: Opener<U>): Waiting<U> {
    const waiter = Promise.withResolvers<U | null>();
    this.#waiters.add(waiter);
    this.#openForWaiters(open);
    return {
      promise: waiter.promise,
      cancel: (error) => {
        if (this.#waiters.delete(waiter)) waiter.reject(error);
      },
    };
  }

  /** Those that are there have hardly any room, and none is being opened: `prepare` is due. */
  isTight(now: number): boolean {
    if (this.#opening > 0 || this.#closed || now < this.#preparesFrom) return false;
    let room = 0;
    let limit = 0;
    for (let i = 0; i < this.#connections.length; i++) {
      const connection = this.#connections[i];
      room += connection.room;
      limit = Math.max(limit, connection.limit);
    }
    return room < limit >> 3;
  }

  /** Opens another connection ahead of need. */
  prepare(open: Opener<U>, now: number): void {
    if (!this.isTight(now)) return;
    // Unless it comes to something, the next one is not tried for each request.
    this.#preparesFrom = now + PREPARE_PAUSE;
    this.#open(open);
  }

  /** Takes in a connection that has been opened. */
  adopt(connection: SharedConnection<U>): void {
    this.#usualLimit = Math.max(1, connection.limit);
    if (connection.isLeaving) return;
    this.#preparesFrom = 0;
    this.#connections.push(connection);
    const changed = () => {
      if (connection.isLeaving) this.#forget(connection);
      else this.#serve(connection);
    };
    connection.onChange = changed;
    this.#serve(connection);
    if (this.#closed) connection.leave();
  }

  /** Takes no new use of any; each closes once its own have ended, also those to come. */
  close(): void {
    this.#closed = true;
    for (const connection of [...this.#connections]) connection.leave();
  }

  /** Closes the connections that nobody uses. */
  closeIdle(): void {
    for (const connection of [...this.#connections]) if (connection.isIdle) connection.leave();
  }

  #take(now: number): U | null {
    for (let i = 0; i < this.#connections.length; i++) {
      const connection = this.#connections[i];
      if (connection.room === 0) continue;
      if (this.#maxAge === 0 || now - connection.openedAt <= this.#maxAge) return connection.open();
      connection.leave(); // and so is gone from the list
      i--;
    }
    return null;
  }

  #openForWaiters(open: Opener<U>): void {
    while (
      this.#opening < MAX_OPENING &&
      (this.#opening === 0 || this.#waiters.size > this.#opening * this.#usualLimit)
    ) this.#open(open);
  }

  #open(open: Opener<U>): void {
    this.#opening++;
    open().then((connection) => {
      this.#opening--;
      if (connection === null) return this.#settle((waiter) => waiter.resolve(null));
      const { size } = this.#waiters;
      this.adopt(connection);
      this.#futile = size > 0 && this.#waiters.size === size ? this.#futile + 1 : 0;
      if (this.#waiters.size === 0) return;
      if (this.#futile < MAX_FUTILE) return this.#openForWaiters(open);
      this.#futile = 0;
      const error = new Error("its connections end as soon as they are open");
      this.#settle((waiter) => waiter.reject(error));
    }, (error) => {
      // Another one under way may still serve them.
      if (--this.#opening === 0) this.#settle((waiter) => waiter.reject(error));
    });
  }

  #serve(connection: SharedConnection<U>): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) {
      if (connection.room === 0) return;
      this.#waiters.delete(waiter);
      waiter.resolve(connection.open());
    }
  }

  #settle(settle: (waiter: PromiseWithResolvers<U | null>) => void): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) settle(waiter);
  }

  #forget(connection: SharedConnection<U>): void {
    const index = this.#connections.indexOf(connection);
    if (index !== -1) this.#connections.splice(index, 1);
  }
}
