/**
 * Ports that fall deaf to order, as `node:net` servers do when descriptors run out. In: `deafen` and
 * `hear`. Out: servers that were made in between take connections and say nothing, and new ones
 * cannot listen. To be made before the servers.
 */
import net from "node:net";

export class DeafPorts {
  readonly #create = net.createServer;
  readonly #servers = new Set<net.Server>();
  readonly #held = new Set<net.Socket>();
  #deaf = false;

  constructor() {
    const create = (options: net.ServerOpts, accept: (socket: net.Socket) => void) => {
      const server = this.#create(options, accept);
      this.#servers.add(server);
      server.once("close", () => this.#servers.delete(server));
      if (this.#deaf) server.listen = () => refuse(server);
      return server;
    };
    net.createServer = create as typeof net.createServer;
  }

  deafen(): void {
    this.#deaf = true;
    for (const server of this.#servers) {
      server.removeAllListeners("connection");
      server.on("connection", (socket) => this.#held.add(socket));
    }
  }

  /** Servers can listen again; those that are deaf stay so. */
  hear(): void {
    this.#deaf = false;
  }

  [Symbol.dispose](): void {
    net.createServer = this.#create;
    for (const socket of this.#held) socket.destroy();
  }
}

function refuse(server: net.Server): net.Server {
  queueMicrotask(() => server.emit("error", new Error("no descriptor is left")));
  return server;
}
