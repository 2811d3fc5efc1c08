/**
 * One plain port. In: an address, and by how many sockets it is listened on. Out: a transport for
 * each client, and loops that survive running out of descriptors.
 */
import { plainAddress } from "../../shared/net/address.ts";
import { tcpTransport } from "../io/tcp_transport.ts";
import { closeQuietly, type Transport } from "../io/transport.ts";

/** After a failed accept (EMFILE, ENFILE), in ms: a bare retry would spin. */
const ACCEPT_PAUSE = 50;

/** Who is at the other end of a new connection. */
export interface Peer {
  /** IP address; IPv4-mapped IPv6 as IPv4. */
  readonly address: string;
  readonly port: number;
  /** The port that it dialled. */
  readonly localPort: number;
}

export interface ListenerOptions {
  readonly hostname: string;
  readonly port: number;
  /** Several workers share the port, and the kernel spreads connections over them. */
  readonly reusePort: boolean;
  /** Asks for room for one more connection; false sheds it. */
  readonly admit: (address: string) => boolean;
  readonly onConnection: (transport: Transport, peer: Peer) => void;
  /** An accept has failed for want of something here, for counters. */
  readonly onAcceptError: (error: unknown) => void;
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #sockets: Deno.TcpListener[] = [];
  readonly #loops: Promise<void>[] = [];
  #closed = false;

  /** Throws what `Deno.listen` throws: a port in use, one that needs a privilege. */
  constructor(options: ListenerOptions) {
    this.#options = options;
    const { hostname, port, reusePort } = options;
    this.#open({ hostname, port, reusePort });
  }

  /** Where it listens, with the port that the system chose for 0. */
  get address(): { hostname: string; port: number } {
    const { hostname, port } = this.#sockets[0].addr;
    return { hostname, port };
  }

  /** Listens by so many sockets in all; a shared port's connections are spread over them. */
  widen(sockets: number): void {
    const { reusePort } = this.#options;
    while (!this.#closed && this.#sockets.length < sockets) {
      this.#open({ ...this.address, reusePort });
    }
  }

  #open(options: Deno.TcpListenOptions): void {
    const socket = Deno.listen(options);
    this.#sockets.push(socket);
    this.#loops.push(this.#accept(socket));
  }

  /**
   * Accepts no more. Connections stay. Settles when the kernel has closed the sockets: an accept under
   * way holds its socket open, which goes on to get its share of the port's connections and resets
   * them (2.9.6: up to one in four right after `close()` on a busy machine).
   */
  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      for (const socket of this.#sockets) socket.close();
    }
    await Promise.all(this.#loops);
  }

  async #accept(socket: Deno.TcpListener): Promise<void> {
    // Not `for await`: that ends for good at the first EMFILE.
    while (!this.#closed) {
      try {
        this.#hand(await socket.accept());
      } catch (error) {
        if (this.#closed) return;
        if (isGone(error)) continue;
        this.#options.onAcceptError(error);
        await new Promise((resume) => setTimeout(resume, ACCEPT_PAUSE));
      }
    }
  }

  #hand(connection: Deno.TcpConn): void {
    let peer: Peer;
    let transport: Transport;
    try {
      const { remoteAddr, localAddr } = connection;
      peer = {
        address: plainAddress(remoteAddr.hostname),
        port: remoteAddr.port,
        localPort: localAddr.port,
      };
      if (!this.#options.admit(peer.address)) return closeQuietly(connection);
      transport = tcpTransport(connection);
    } catch {
      // Gone between accept and here.
      return closeQuietly(connection);
    }
    this.#options.onConnection(transport, peer);
  }
}

/** The client had left the queue by itself: nothing is wrong here, and the next one waits. */
function isGone(error: unknown): boolean {
  return error instanceof Deno.errors.NotConnected ||
    error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.ConnectionAborted;
}
