/**
 * One listening socket. In: an address. Out: a connection served for each client, and a loop that
 * survives running out of descriptors.
 */
import type { CidrList } from "../shared/cidr.ts";
import { ProxyError } from "./errors.ts";
import { ServerConnection, type ServerConnectionContext } from "./http1/server_connection.ts";
import type { Client } from "./message.ts";
import { closeQuietly } from "./transport.ts";

/** After a failed accept (EMFILE, ENFILE), in ms: a bare retry would spin. */
const ACCEPT_PAUSE = 50;

export interface ListenerContext extends ServerConnectionContext {
  readonly trustedProxies: CidrList;
  /** Asks for room for one more connection; false sheds it. */
  readonly admit: () => boolean;
}

export class Listener {
  readonly connections: Set<ServerConnection> = new Set<ServerConnection>();
  readonly #context: ListenerContext;
  readonly #listener: Deno.TcpListener;
  #closed = false;

  /** Throws what `Deno.listen` throws: a port in use, one that needs a privilege. */
  constructor(hostname: string, port: number, context: ListenerContext) {
    this.#context = context;
    this.#listener = Deno.listen({ hostname, port });
    this.#accept();
  }

  /** Where it listens, with the port that the system chose for 0. */
  get address(): { hostname: string; port: number } {
    const { hostname, port } = this.#listener.addr;
    return { hostname, port };
  }

  /** Accepts no more. Connections stay. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener.close();
  }

  async #accept(): Promise<void> {
    // Not `for await`: that ends for good at the first EMFILE.
    while (!this.#closed) {
      try {
        this.#serve(await this.#listener.accept());
      } catch {
        if (this.#closed) return;
        await new Promise((resume) => setTimeout(resume, ACCEPT_PAUSE));
      }
    }
  }

  #serve(connection: Deno.TcpConn): void {
    if (!this.#context.admit()) {
      closeQuietly(connection);
      return;
    }
    let client: Client;
    try {
      // Answers go out in one write each: waiting for more only adds delay.
      connection.setNoDelay(true);
      client = this.#client(connection);
    } catch {
      // Gone between accept and here.
      closeQuietly(connection);
      return;
    }
    const server = new ServerConnection(connection, client, this.#context);
    this.connections.add(server);
    server.serve().finally(() => this.connections.delete(server)).catch((error) => {
      this.#context.onError(new ProxyError("internal", String(error)), client);
    });
  }

  #client(connection: Deno.TcpConn): Client {
    const address = plainAddress(connection.remoteAddr.hostname);
    return {
      address,
      port: connection.remoteAddr.port,
      secure: false,
      localPort: connection.localAddr.port,
      trusted: this.#context.trustedProxies.contains(address),
    };
  }
}

/** An IPv4-mapped IPv6 address, as a dual-stack socket reports it, as IPv4. */
function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}
