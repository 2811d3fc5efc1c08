/**
 * The listener of a Gateway that /explain is asked about. In: a snapshot, a URL and the Gateway's name. Out:
 * the listener that takes the URL, as connections to the Gateway's sockets are given to it; or why none
 * does.
 */
import { SocketListeners } from "../router/socket_listeners.ts";
import type { RequestedUrl } from "../../shared/path/requested_url.ts";
import { gatewayOf } from "../../shared/snapshot/listener_id.ts";
import type { Listener, Snapshot } from "../../shared/snapshot/types.ts";

/** @param gateway `namespace/name`. @return the listener, or a sentence. */
export function explainedListener(
  { listeners = [] }: Snapshot,
  { scheme, host, port: written }: RequestedUrl,
  gateway: string,
): Listener | string {
  const own = listeners.filter(({ id }) => gatewayOf(id) === gateway);
  if (own.length === 0) return `The snapshot has no listener of Gateway ${gateway}`;
  const port = written ?? (scheme === "https" ? 443 : 80);
  const onPort = own.filter((listener) =>
    listener.port === port && listener.protocol === (scheme === "https" ? "HTTPS" : "HTTP")
  );
  const [first] = onPort;
  if (first === undefined) {
    const all = own.map(({ protocol, port }) => `${protocol.toLowerCase()} ${port}`);
    return `Gateway ${gateway} has no listener for ${scheme} on port ${port}, only ${
      [...new Set(all)].join(", ")
    }`;
  }
  const sockets = new SocketListeners();
  sockets.replace(onPort, () => false);
  return sockets.find(first.socket, host) ??
    `No listener of Gateway ${gateway} on port ${port} takes the host ${host}`;
}
