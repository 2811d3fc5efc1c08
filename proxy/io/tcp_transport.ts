/**
 * A plain connection as a transport. In: a `Deno.TcpConn`. Out: reads and writes that go to Deno's
 * operations directly, where this Deno is known to have them; else the connection itself.
 *
 * `TcpConn.read` and `write` wrap each operation in an async function, and a read in a set besides:
 * with two of each a request that is a seventh of all that a small one costs. The operations below
 * them are no public interface, so they are only used in releases that the tests have passed with.
 */
import type { Transport } from "./transport.ts";

/** What is used of Deno's core. */
interface Operations {
  /** The count, 0 at FIN. */
  read(id: number, view: Uint8Array): Promise<number>;
  write(id: number, view: Uint8Array): Promise<number>;
  /** The property of a connection with its id. */
  readonly internalRidSymbol: symbol;
}

/** Releases whose operations are what `Operations` says. */
const KNOWN = /^2\.9\./;

const OPERATIONS = KNOWN.test(Deno.version.deno) ? findOperations() : null;

/** The connection as a transport; the caller uses it by that alone from now on. */
export function tcpTransport(
  connection: Deno.TcpConn,
  operations: Operations | null = OPERATIONS,
): Transport {
  if (operations === null) return connection;
  const id = (connection as unknown as Record<symbol, unknown>)[operations.internalRidSymbol];
  return typeof id === "number" ? new TcpTransport(connection, id, operations) : connection;
}

/** Null where Deno has none of them, or keeps them to itself. */
export function findOperations(): Operations | null {
  const { internal } = Deno as unknown as { readonly internal?: symbol };
  if (internal === undefined) return null;
  const inside = Deno as unknown as Record<symbol, { readonly core?: Partial<Operations> }>;
  const { read, write, internalRidSymbol } = inside[internal]?.core ?? {};
  if (typeof read !== "function" || typeof write !== "function") return null;
  return typeof internalRidSymbol === "symbol" ? { read, write, internalRidSymbol } : null;
}

/** A connection that is read and written by Deno's operations. */
export class TcpTransport implements Transport {
  readonly connection: Deno.TcpConn;
  readonly #id: number;
  readonly #operations: Operations;

  constructor(connection: Deno.TcpConn, id: number, operations: Operations) {
    this.connection = connection;
    this.#id = id;
    this.#operations = operations;
  }

  read(view: Uint8Array): Promise<number> {
    return this.#operations.read(this.#id, view);
  }

  write(view: Uint8Array): Promise<number> {
    return this.#operations.write(this.#id, view);
  }

  closeWrite(): Promise<void> {
    return this.connection.closeWrite();
  }

  close(): void {
    this.connection.close();
  }
}
