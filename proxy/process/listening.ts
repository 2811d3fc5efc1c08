/**
 * The listeners of one event loop. In: a server and addresses. Out: the addresses with the ports that were
 * chosen.
 */
import { type Address, describeListenError } from "../../shared/net/address.ts";
import type { ProxyServer } from "../server.ts";
import type { Listening } from "./worker_protocol.ts";

/**
 * Listens on all addresses with one server, then on sockets of listeners. Rejects with one line for
 * people where an address cannot be had.
 */
export async function listenAll(
  server: ProxyServer,
  { http, https }: Listening,
): Promise<Listening> {
  const bound: { http: Address[]; https: Address[] } = { http: [], https: [] };
  for (const [scheme, addresses] of [["http", http], ["https", https]] as const) {
    for (const address of addresses) {
      try {
        bound[scheme].push(
          scheme === "http" ? server.listen(address) : await server.listenTls(address),
        );
      } catch (error) {
        throw new Error(describeListenError(error, address, `--listen-${scheme}`));
      }
    }
  }
  await server.openSockets();
  return bound;
}
