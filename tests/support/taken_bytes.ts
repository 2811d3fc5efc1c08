/**
 * How much of what a test has sent the other end has read, where both ends are in this process. In:
 * the sending connection. Out: a wait for the other end's reads, so that two writes arrive as two
 * reads without a sleep in between.
 */

import { findOperations, TcpTransport } from "../../proxy/io/tcp_transport.ts";

/** A peer that reads nothing more (it is busy with what it has) is not waited for any longer, ms. */
const PATIENCE = 100;

interface Waiter {
  readonly at: number;
  readonly resolve: () => void;
}

/** Counters by the sender's port and the reader's port. */
const counters = new Map<string, TakenBytes>();
const readers = new WeakMap<Deno.Conn, TakenBytes>();
/** Keys of counters by the ids of connections, which Deno gives out once. */
const ends = new Map<number, string>();
let observed = false;

export class TakenBytes {
  readonly #key: string;
  #bytes = 0;
  #waiters: Waiter[] = [];

  /** Counts what the other end of `connection` reads from now on. */
  constructor(connection: Deno.TcpConn) {
    observeReads(connection);
    this.#key = `${connection.localAddr.port} ${connection.remoteAddr.port}`;
    counters.set(this.#key, this);
  }

  /** The other end has read `count` bytes more. */
  add(count: number): void {
    this.#bytes += count;
    const due = this.#waiters.filter(({ at }) => at <= this.#bytes);
    if (due.length === 0) return;
    this.#waiters = this.#waiters.filter(({ at }) => at > this.#bytes);
    for (const { resolve } of due) resolve();
  }

  /** Settles with true once `total` bytes have been read, or with false when patience ends. */
  reached(total: number): Promise<boolean> {
    if (this.#bytes >= total) return Promise.resolve(true);
    return new Promise((settle) => {
      const timer = setTimeout(() => settle(false), PATIENCE);
      this.#waiters.push({
        at: total,
        resolve: () => {
          clearTimeout(timer);
          settle(true);
        },
      });
    });
  }

  /** Ends the counting. */
  close(): void {
    counters.delete(this.#key);
  }
}

/** Makes every TCP connection of this process tell its reads. */
function observeReads(connection: Deno.TcpConn): void {
  if (observed) return;
  observed = true;
  const prototype: Deno.Conn = Object.getPrototypeOf(Object.getPrototypeOf(connection));
  const read = prototype.read;
  prototype.read = async function (this: Deno.TcpConn, view: Uint8Array): Promise<number | null> {
    const count = await read.call(this, view);
    if (count !== null) counterOf(this)?.add(count);
    return count;
  };
}

observeTransports();

/** The proxy's own connections go past that, and know nothing of their ends: those are told by id. */
function observeTransports(): void {
  const operations = findOperations();
  if (operations === null) return;
  const known = (connection: Deno.TcpConn): Deno.TcpConn => {
    const id = (connection as unknown as Record<symbol, number>)[operations.internalRidSymbol];
    ends.set(id, `${connection.remoteAddr.port} ${connection.localAddr.port}`);
    return connection;
  };
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const prototype: Deno.TcpListener = Object.getPrototypeOf(listener);
  const accept = prototype.accept;
  prototype.accept = async function (this: Deno.TcpListener): Promise<Deno.TcpConn> {
    return known(await accept.call(this));
  };
  const { connect } = Deno;
  Object.assign(Deno, {
    connect: async (options: Deno.ConnectOptions) => known(await connect(options)),
  });
  const { read } = TcpTransport.prototype;
  TcpTransport.prototype.read = async function (view: Uint8Array): Promise<number> {
    const count = await read.call(this, view);
    const key = ends.get(this.id);
    if (key !== undefined) counters.get(key)?.add(count);
    return count;
  };
}

function counterOf(reader: Deno.TcpConn): TakenBytes | undefined {
  let counter = readers.get(reader);
  if (counter === undefined) {
    counter = counters.get(`${reader.remoteAddr.port} ${reader.localAddr.port}`);
    if (counter !== undefined) readers.set(reader, counter);
  }
  return counter;
}
