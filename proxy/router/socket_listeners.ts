/**
 * Which listener takes a request or a handshake on a container port. In: the listeners of each
 * configuration, then a socket with the Host of a request or the server name of a handshake. Out: the
 * listener with the most specific hostname that takes it. It decides alone: whatever it has no route or
 * certificate for goes to no other listener (listener isolation of Gateway API).
 */
import type { Listener } from "../../shared/snapshot/types.ts";

/** No host is longer (RFC 1035 §2.3.4); server names of handshakes may be. */
const MAX_NAME = 253;

/** Ids of the listeners of one socket, by their hostnames. */
class SocketHostnames {
  readonly #exact = new Map<string, string>();
  /** By what follows `*.`. */
  readonly #suffix = new Map<string, string>();
  /** The same for a star that stands for one label only. */
  readonly #oneLabel = new Map<string, string>();
  #any: string | null = null;

  /** Of two with the same hostname the first one wins. */
  add({ id, hostname = "*", wildcards }: Listener): void {
    if (hostname === "*") this.#any ??= id;
    else if (!hostname.startsWith("*.")) addNew(this.#exact, hostname, id);
    else if (wildcards === "suffix") addNew(this.#suffix, hostname.slice(2), id);
    else addNew(this.#oneLabel, hostname.slice(2), id);
  }

  /** @param host in lower case without port and last dot; "" for none. */
  find(host: string): string | null {
    // Most Gateways name no hostname: then the host is not looked at.
    const exact = this.#exact.size === 0 ? undefined : this.#exact.get(host);
    if (exact !== undefined) return exact;
    if (this.#suffix.size + this.#oneLabel.size === 0 || host.length > MAX_NAME) return this.#any;
    const first = host.indexOf(".");
    for (let dot = first; dot > 0; dot = host.indexOf(".", dot + 1)) {
      const suffix = host.slice(dot + 1);
      const found = this.#suffix.get(suffix) ??
        (dot === first ? this.#oneLabel.get(suffix) : undefined);
      if (found !== undefined) return found;
    }
    return this.#any;
  }
}

export class SocketListeners {
  #listeners: ReadonlyMap<string, Listener> = new Map();
  #sockets = new Map<string, SocketHostnames>();

  /**
   * The listeners of a configuration, in place of those before. A socket that none of them names and
   * that is still open keeps its list, so that listeners that have moved to another socket still serve
   * on it; those that are gone serve nothing.
   */
  replace(listeners: readonly Listener[], isOpen: (socket: string) => boolean): void {
    const sockets = new Map<string, SocketHostnames>();
    for (const listener of listeners) {
      let hostnames = sockets.get(listener.socket);
      if (hostnames === undefined) sockets.set(listener.socket, hostnames = new SocketHostnames());
      hostnames.add(listener);
    }
    for (const [socket, hostnames] of this.#sockets) {
      if (!sockets.has(socket) && isOpen(socket)) sockets.set(socket, hostnames);
    }
    this.#listeners = new Map(listeners.map((listener) => [listener.id, listener]));
    this.#sockets = sockets;
  }

  /** Whether the same listener takes both hosts, or none takes either. */
  isSame(socket: string, host: string, other: string): boolean {
    return host === other || this.find(socket, host) === this.find(socket, other);
  }

  /**
   * Null where no listener takes it.
   *
   * @param host in lower case without port and last dot; "" for none.
   */
  find(socket: string, host: string): Listener | null {
    const id = this.#sockets.get(socket)?.find(host) ?? null;
    return id === null ? null : this.#listeners.get(id) ?? null;
  }
}

function addNew(map: Map<string, string>, name: string, id: string): void {
  if (!map.has(name)) map.set(name, id);
}
