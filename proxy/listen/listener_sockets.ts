/**
 * Sockets for listeners of Gateways, in one event loop. In: the listeners of each configuration. Out:
 * connections, with the socket that they came to; which sockets are open, and why others cannot be.
 *
 * A socket opens with the configuration that first names it. One that no listener names any more goes on
 * accepting for the drain delay, so that load balancers can notice, and then ends alone: its queue is
 * emptied, its port closed, and its connections are drained. Named again before, it stays. What the
 * system refuses is tried again, and keeps no configuration from being applied.
 */
import { describeListenError, formatAddress, isAddressMissing } from "../../shared/net/address.ts";
import type { ListenRange } from "../../shared/net/port_range.ts";
import type { Logger } from "../../shared/log.ts";
import type { Listener as ListenerSpec } from "../../shared/snapshot/types.ts";
import { MAX_OBSTACLES, type SocketObstacle } from "../../shared/stream/socket_obstacle.ts";
import type { CertificateEntry } from "../certificates/store.ts";
import type { DownstreamConnection } from "../http/downstream.ts";
import type { IntrusiveSet } from "../io/intrusive_set.ts";
import type { Transport } from "../io/transport.ts";
import { emptyQueues, finished, idleGrace, retireAll } from "./drain.ts";
import { Listener, type ListenerOptions, type Peer } from "./listener.ts";
import { LOOK_INTERVAL } from "./port_watch.ts";
import { type SocketSpec, socketSpecs, sortedObstacles } from "./socket_specs.ts";
import type { SocketStates } from "./socket_states.ts";
import { TlsListener, type TlsListenerOptions } from "./tls_listener.ts";

/** After a socket could not be opened, in ms: what is in its way may have gone. */
const RETRY = 3_000;

/** How a connection has come. */
export interface Arrival {
  readonly socket: string;
  /** Of its handshake, "" for none; null without TLS. */
  readonly serverName: string | null;
  /** Agreed on by ALPN; null where none was. */
  readonly protocol: string | null;
}

type TlsParts = "certificateFor" | "onConnection" | "onDeaf" | "lookInterval";

export interface ListenerSocketsOptions {
  /** Null where none is ever opened. */
  readonly range: ListenRange | null;
  /** Several workers share each port. */
  readonly reusePort: boolean;
  /** In ms; see `--drain-delay`. */
  readonly drainDelay: number;
  /** In ms; see `--drain-timeout`. */
  readonly drainTimeout: number;
  readonly plain: Pick<ListenerOptions, "admit" | "onAcceptError">;
  readonly tls: Omit<TlsListenerOptions, TlsParts>;
  /** As `TlsListenerOptions.certificateFor` has it. */
  readonly certificateFor: (
    socket: string,
    ...hello: Parameters<TlsListenerOptions["certificateFor"]>
  ) => CertificateEntry | null;
  /** Its peer's local port is the one that clients know. */
  readonly onConnection: (transport: Transport, peer: Peer, arrival: Arrival) => void;
  /** Those of the event loop; `client.listener` of one that came to a socket is the socket. */
  readonly connections: Pick<IntrusiveSet<DownstreamConnection>, "has" | typeof Symbol.iterator>;
  /** Sockets are open now that were not, or the other way round, or there are other obstacles. */
  readonly onChange: () => void;
  readonly log: Logger;
}

/** A socket that accepts. */
interface OpenSocket {
  spec: SocketSpec;
  listener: Listener | TlsListener | null;
  /** Connections so far. */
  accepted: number;
  /** Why it does not answer; null where it does. */
  deafness: string | null;
  /** Until it ends; null while a listener names it. */
  lingering: ReturnType<typeof setTimeout> | null;
}

export class ListenerSockets {
  readonly #options: ListenerSocketsOptions;
  #wanted: ReadonlyMap<string, SocketSpec> = new Map();
  /** Of listeners for which nothing is tried. */
  #refused: readonly SocketObstacle[] = [];
  readonly #open = new Map<string, OpenSocket>();
  /** Of these. */
  #listeners: readonly (Listener | TlsListener)[] = [];
  /** Gateways that have each socket, or had it last. */
  readonly #owners = new Map<string, readonly string[]>();
  /** What the system has said, by socket. */
  readonly #failed = new Map<string, string>();
  /** Settles when the port is closed. */
  readonly #closing = new Map<string, Promise<void>>();
  /** Until connections of closed sockets are cut. */
  readonly #cuts = new Set<ReturnType<typeof setTimeout>>();
  #work: Promise<void> | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** Of each port. */
  #count = 1;
  #shown: SocketStates = { open: [], obstacles: [] };
  #isBegun = false;
  #isClosed = false;

  constructor(options: ListenerSocketsOptions) {
    this.#options = options;
  }

  /** As they were when `onChange` was called last. */
  get states(): SocketStates {
    return this.#shown;
  }

  /** Settles when each socket that was wanted until now is open or cannot be; null where that is so. */
  get settled(): Promise<void> | null {
    return this.#work;
  }

  /** All that accept. */
  get listeners(): readonly (Listener | TlsListener)[] {
    return this.#listeners;
  }

  /** Whether connections may come to the socket. */
  readonly isOpen = (socket: string): boolean =>
    this.#open.has(socket) || this.#closing.has(socket);

  /** From now on these listeners are served. */
  replace(listeners: readonly ListenerSpec[]): void {
    const { specs, obstacles } = socketSpecs(listeners, this.#options.range);
    this.#wanted = specs;
    this.#refused = obstacles;
    for (const { socket, gateways } of specs.values()) {
      const before = this.#owners.get(socket) ?? gateways;
      this.#owners.set(socket, gateways);
      if (!before.some((gateway) => gateways.includes(gateway))) this.#abandon(socket);
    }
    this.#schedule();
  }

  /** Opens what is wanted, from now on; settles when that has been tried. */
  async begin(): Promise<void> {
    this.#isBegun = true;
    this.#schedule();
    await this.#work;
  }

  /** Has so many sockets on each port, as far as the system gives them. */
  async widen(count: number): Promise<void> {
    this.#count = count;
    for (const open of this.#open.values()) await this.#widen(open);
  }

  /** Accepts no more, and opens nothing any more. Connections stay. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    for (const cut of this.#cuts) clearTimeout(cut);
    const closing: (Promise<void> | void)[] = [];
    for (const { lingering, listener } of this.#open.values()) {
      if (lingering !== null) clearTimeout(lingering);
      closing.push(listener?.close());
    }
    // Those that were about to close still accept.
    await Promise.all([...closing, ...this.#closing.values()]);
  }

  #schedule(): void {
    if (!this.#isBegun || this.#isClosed || this.#isIdle) return;
    const work: Promise<void> = (this.#work ?? Promise.resolve()).then(() => this.#settle());
    this.#work = work;
    work.finally(() => {
      if (this.#work === work) this.#work = null;
    });
  }

  /** Nothing is wanted, and nothing was. */
  get #isIdle(): boolean {
    return this.#wanted.size + this.#open.size + this.#failed.size + this.#refused.length +
        this.#shown.obstacles.length === 0;
  }

  /** One step at a time. Never rejects. */
  async #settle(): Promise<void> {
    clearTimeout(this.#retry);
    const opening: Promise<void>[] = [];
    for (const spec of this.#wanted.values()) {
      const open = this.#open.get(spec.socket);
      if (open !== undefined && open.spec.isSecure === spec.isSecure) this.#keep(open, spec);
      else {
        if (open !== undefined) this.#end(open);
        opening.push(this.#openSocket(spec));
      }
    }
    for (const open of this.#open.values()) {
      if (!this.#wanted.has(open.spec.socket)) this.#linger(open);
    }
    for (const socket of this.#failed.keys()) {
      if (!this.#wanted.has(socket)) this.#failed.delete(socket);
    }
    await Promise.all(opening);
    this.#show();
    if (this.#failed.size > 0 && !this.#isClosed) {
      this.#retry = setTimeout(() => this.#schedule(), RETRY);
    }
  }

  #keep(open: OpenSocket, spec: SocketSpec): void {
    if (open.lingering !== null) clearTimeout(open.lingering);
    open.lingering = null;
    const { publicPort } = open.spec;
    open.spec = spec;
    if (spec.publicPort !== publicPort) this.#drain(spec.socket);
  }

  #linger(open: OpenSocket): void {
    if (open.lingering !== null) return;
    const { socket } = open.spec;
    const half = this.#options.drainDelay / 2;
    open.lingering = setTimeout(() => {
      // As in the drain of a process: whoever comes later is told only when it ends.
      retireAll(this.#connectionsOf(socket));
      open.lingering = setTimeout(() => {
        open.lingering = null;
        if (!this.#wanted.has(socket)) this.#end(open);
      }, half);
    }, half);
  }

  #end(open: OpenSocket): void {
    const { socket } = open.spec;
    if (open.lingering !== null) clearTimeout(open.lingering);
    this.#set(socket, null);
    const closing = this.#shut(open).finally(() => {
      this.#closing.delete(socket);
      this.#show();
    });
    this.#closing.set(socket, closing);
  }

  async #shut(open: OpenSocket): Promise<void> {
    const { listener } = open;
    const tls = listener instanceof TlsListener ? listener : null;
    const handshakes = () => tls?.handshakeCount ?? 0;
    await emptyQueues(() => open.accepted + (tls?.acceptedCount ?? 0), handshakes);
    await listener?.close();
    const { drainTimeout } = this.#options;
    const left = () => this.#isClosed ? 0 : handshakes();
    await finished(left, idleGrace(drainTimeout), drainTimeout);
    tls?.endHandshakes();
    this.#drain(open.spec.socket);
  }

  /**
   * The socket is another Gateway's from now on. What clients of the one before still send on their connections is
   * not for its routes: no listener takes it, and the connections are drained.
   */
  #abandon(socket: string): void {
    const left = this.#connectionsOf(socket);
    this.#drain(socket);
    for (const { client } of left) client.listener = `${socket} before`;
  }

  /** Its connections finish what is under way, and are cut in the end. */
  #drain(socket: string): void {
    const { connections, drainTimeout } = this.#options;
    const left = [...this.#connectionsOf(socket)];
    if (left.length === 0 || this.#isClosed) return;
    for (const connection of left) connection.drain(idleGrace(drainTimeout));
    const cut = setTimeout(() => {
      this.#cuts.delete(cut);
      for (const connection of left) if (connections.has(connection)) connection.close();
    }, drainTimeout);
    this.#cuts.add(cut);
  }

  #connectionsOf(socket: string): DownstreamConnection[] {
    return [...this.#options.connections].filter(({ client }) => client.listener === socket);
  }

  async #openSocket(spec: SocketSpec): Promise<void> {
    const { socket, port } = spec;
    await this.#closing.get(socket);
    if (this.#isClosed) return;
    const open: OpenSocket = {
      spec,
      listener: null,
      accepted: 0,
      deafness: null,
      lingering: null,
    };
    const address = { hostname: this.#options.range!.hostname, port };
    try {
      open.listener = await this.#listen(open, address);
    } catch (error) {
      this.#failed.set(socket, reasonOf(error, address));
      return;
    }
    this.#failed.delete(socket);
    // It has ended meanwhile.
    if (this.#isClosed) return void open.listener.close();
    this.#set(socket, open);
    await this.#widen(open);
  }

  /** @param open null for one that is open no more. */
  #set(socket: string, open: OpenSocket | null): void {
    if (open === null) this.#open.delete(socket);
    else this.#open.set(socket, open);
    this.#listeners = [...this.#open.values()].flatMap(({ listener }) => listener ?? []);
  }

  async #listen(
    open: OpenSocket,
    address: { readonly hostname: string; readonly port: number },
  ): Promise<Listener | TlsListener> {
    const { plain, tls, reusePort, certificateFor, onConnection } = this.#options;
    const { socket, isSecure } = open.spec;
    const come = (transport: Transport, peer: Peer, arrival: Arrival) => {
      open.accepted++;
      onConnection(transport, { ...peer, localPort: open.spec.publicPort }, arrival);
    };
    if (!isSecure) {
      return new Listener({
        ...address,
        ...plain,
        reusePort,
        onConnection: (transport, peer) =>
          come(transport, peer, { socket, serverName: null, protocol: null }),
      });
    }
    const listener = new TlsListener({
      ...tls,
      certificateFor: (name, hello) => certificateFor(socket, name, hello),
      onConnection: (transport, peer, _shown, protocol, serverName) =>
        come(transport, peer, { socket, serverName, protocol }),
      // However many there are, their looks together cost as much as those of one port.
      lookInterval: () => LOOK_INTERVAL * Math.max(1, this.#open.size),
      onDeaf: (reason) => {
        open.deafness = reason;
        this.#show();
      },
    });
    await listener.listen(address.hostname, address.port, reusePort);
    return listener;
  }

  async #widen({ listener, spec: { socket } }: OpenSocket): Promise<void> {
    try {
      await listener?.widen(this.#count);
    } catch (error) {
      this.#options.log.warn("Cannot open more listening sockets", {
        socket,
        error: String(error),
      });
    }
  }

  #show(): void {
    if (this.#isClosed) return;
    const obstacles = new Map(this.#refused.map(({ socket, reason }) => [socket, reason]));
    for (const [socket, reason] of this.#failed) obstacles.set(socket, reason);
    for (const { spec: { socket }, deafness } of this.#open.values()) {
      if (deafness !== null) obstacles.set(socket, deafness);
    }
    const states: SocketStates = {
      open: [...this.#open.keys(), ...this.#closing.keys()].sort(),
      obstacles: sortedObstacles(obstacles).slice(0, MAX_OBSTACLES),
    };
    if (JSON.stringify(states) === JSON.stringify(this.#shown)) return;
    this.#shown = states;
    this.#options.onChange();
  }
}

/** What the system says, as a clause with the remedy. */
function reasonOf(
  error: unknown,
  address: { readonly hostname: string; readonly port: number },
): string {
  if (isAddressMissing(error)) return "this machine does not have the address";
  const flag = "--listen-range";
  const prefix = `Cannot listen on ${formatAddress(address)} (${flag}): `;
  return describeListenError(error, address, flag).slice(prefix.length);
}
