/**
 * Who may connect to the admin port, and how many. In: an address. Out: connections, never more
 * than a bound: the port must not take from the traffic what it has of descriptors.
 *
 * Not `Deno.serve`, which has no bound and no deadlines, and ends for good at the first accept that
 * fails; nor `node:http`, whose listener in Deno 2.9 goes silent then and says nothing.
 */
import { AdminConnection, type AdminConnectionOptions, type AdminDeadlines } from "./connection.ts";
import { type Address } from "../net/address.ts";

export interface AdminLimits extends AdminDeadlines {
  /** That are open at once. One more ends that which has been open longest without a request. */
  readonly connections: number;
}

export const ADMIN_LIMITS: AdminLimits = { connections: 64, head: 10_000, answer: 60_000 };

export interface AdminListenerOptions extends Omit<AdminConnectionOptions, "deadlines"> {
  readonly limits: AdminLimits;
}

/** After a failed accept, as for want of descriptors, in ms: a bare retry would spin. */
const RETRY_PAUSE = 100;

/** Failed accepts within this long (ms) of each other are told once. */
const SAME_NEWS = 60_000;

export class AdminListener {
  readonly address: Address;
  readonly #listener: Deno.TcpListener;
  readonly #options: AdminListenerOptions;
  /** The oldest first. */
  readonly #connections = new Set<AdminConnection>();
  readonly #accepting: Promise<void>;
  #failed = -Infinity;
  #closed = false;

  /** Throws what `Deno.listen` throws when the port cannot be had. */
  constructor({ hostname, port }: Address, options: AdminListenerOptions) {
    this.#listener = Deno.listen({ hostname, port });
    this.address = { hostname: this.#listener.addr.hostname, port: this.#listener.addr.port };
    this.#options = options;
    this.#accepting = this.#accept();
  }

  /** Accepts no more, lets answers that were begun finish for `deadline` ms, then ends all. */
  async close(deadline: number): Promise<void> {
    this.#closed = true;
    this.#listener.close();
    const answering = [...this.#connections].filter((connection) => connection.answering);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, deadline));
    await Promise.race([Promise.all(answering.map(({ ended }) => ended)), late]);
    clearTimeout(timer);
    for (const connection of this.#connections) connection.close();
    await this.#accepting;
  }

  async #accept(): Promise<void> {
    while (!this.#closed) {
      try {
        this.#admit(await this.#listener.accept());
      } catch (error) {
        if (this.#closed) return;
        this.#refused(error);
        await new Promise((resume) => setTimeout(resume, RETRY_PAUSE));
      }
    }
  }

  #admit(accepted: Deno.TcpConn): void {
    if (this.#connections.size >= this.#options.limits.connections) this.#makeRoom();
    const { limits, ...options } = this.#options;
    const connection = new AdminConnection(accepted, { ...options, deadlines: limits });
    this.#connections.add(connection);
    connection.ended.then(() => this.#connections.delete(connection));
  }

  /** Who says nothing goes first; where all are being answered, who came first. */
  #makeRoom(): void {
    const open = [...this.#connections];
    const last = open.find(({ answering }) => !answering) ?? open.at(0);
    if (last === undefined) return;
    this.#connections.delete(last);
    last.close();
  }

  #refused(error: unknown): void {
    this.#makeRoom();
    const now = performance.now();
    if (now - this.#failed > SAME_NEWS) {
      this.#options.logger.warn("Admin port cannot accept connections", { error });
    }
    this.#failed = now;
  }
}
