/**
 * Whether a listening port still answers. In: where it listens, and how many connections it has
 * accepted. Out: a call when it has fallen deaf. A `net` server does so at the first EMFILE, without
 * an event, and stays so when descriptors are free again.
 *
 * A port that accepts needs no proof. A quiet one is dialled: whoever says no word and ends is
 * ended by a server in turn, while the queue of a deaf one only holds him.
 */
import { type Address, withoutIpv6 } from "../../shared/net/address.ts";
import { isExhaustion } from "../io/descriptors.ts";
import type { SelfProbes } from "./self_probes.ts";
import { connectTcp } from "../io/tcp_connect.ts";
import { Timeout } from "../io/timeout.ts";
import { closeQuietly } from "../io/transport.ts";

/** Between two looks, in ms. */
export const LOOK_INTERVAL = 500;

/** How long an answer may take, in ms; the loop that gives it is the one that waits for it. */
const PATIENCE = 500;

/** The kernel chooses which of those who share a port gets a connection: several calls find more. */
const CALLS_WHERE_SHARED = 4;

/**
 * Looks in a row that find a shared port deaf before it counts as deaf: until it is known that another
 * worker is silent, calls that it was given seem to be unanswered here.
 */
const LOOKS_WHERE_SHARED = 2;

export interface PortWatchOptions {
  readonly address: Address;
  /** Other workers listen on the same port. */
  readonly shared: boolean;
  /** Where calls are announced, so that they are not taken for clients. */
  readonly ownCalls: SelfProbes;
  /** Connections accepted since the start. */
  readonly accepted: () => number;
  /** Milliseconds between two looks; default 500. */
  readonly interval?: () => number;
  /** Settles when the port listens again. */
  readonly onDeaf: () => Promise<void>;
  /** There was no descriptor to look with. */
  readonly onExhausted: () => void;
}

export class PortWatch {
  readonly #options: PortWatchOptions;
  readonly #calls = new Set<AbortController>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #seen = 0;
  /** Looks in a row that have found it deaf. */
  #unheard = 0;
  #closed = false;

  constructor(options: PortWatchOptions) {
    this.#options = options;
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const call of this.#calls) call.abort();
  }

  #schedule(): void {
    if (this.#closed) return;
    const { interval = () => LOOK_INTERVAL } = this.#options;
    this.#timer = setTimeout(() => this.#look(), interval());
  }

  async #look(): Promise<void> {
    const { accepted, shared, onDeaf } = this.#options;
    const before = accepted();
    if (before === this.#seen) {
      const calls = Array.from({ length: shared ? CALLS_WHERE_SHARED : 1 }, () => this.#call());
      const answers = await Promise.all(calls);
      // Of those who share a port, this one may be well: then it has been called by the others.
      const isUnheard = answers.includes("none") && accepted() === before &&
        !this.#options.ownCalls.isSilenceForeign;
      this.#unheard = isUnheard ? this.#unheard + 1 : 0;
      if (this.#unheard >= (shared ? LOOKS_WHERE_SHARED : 1) && !this.#closed) {
        this.#unheard = 0;
        await onDeaf();
      }
    } else this.#unheard = 0;
    this.#seen = accepted();
    this.#schedule();
  }

  async #call(): Promise<"some" | "none" | "unknown"> {
    const { address, ownCalls, onExhausted } = this.#options;
    const limit = new AbortController();
    this.#calls.add(limit);
    const timer = new Timeout(PATIENCE, () => limit.abort());
    let connection: Deno.TcpConn | null = null;
    const call = ownCalls.begin(address.port);
    try {
      connection = await dial(address, limit.signal);
      ownCalls.name(call, connection.localAddr.port);
      const { promise: late, resolve } = Promise.withResolvers<"late">();
      if (limit.signal.aborted) resolve("late");
      limit.signal.addEventListener("abort", () => resolve("late"));
      await connection.closeWrite();
      const answer = connection.read(new Uint8Array(64)).catch(() => null);
      return await Promise.race([answer, late]) === "late" ? "none" : "some";
    } catch (error) {
      if (isExhaustion(error)) {
        onExhausted();
        return "unknown";
      }
      // Refused, or not even taken into the queue, which is full.
      return limit.signal.aborted || error instanceof Deno.errors.ConnectionRefused
        ? "none"
        : "unknown";
    } finally {
      timer.cancel();
      ownCalls.end(call);
      this.#calls.delete(limit);
      if (connection !== null) closeQuietly(connection);
    }
  }
}

/** A port on all addresses answers on IPv4 too, which may be all that this host's loopback has. */
async function dial(address: Address, signal: AbortSignal): Promise<Deno.TcpConn> {
  try {
    return await connectTcp(address, signal);
  } catch (error) {
    const other = withoutIpv6(address);
    if (other === address || signal.aborted || !isUnreachable(error)) throw error;
    return await connectTcp(other, signal);
  }
}

/** The address itself cannot be had, whoever listens there. */
function isUnreachable(error: unknown): boolean {
  return error instanceof Deno.errors.AddrNotAvailable ||
    error instanceof Deno.errors.NetworkUnreachable;
}
