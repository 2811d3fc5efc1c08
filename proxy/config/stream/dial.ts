/**
 * A connection to the controller. In: its name, and whom to trust. Out: TLS with a peer whose
 * certificate is for that name, or why there is none.
 *
 * Not by an agent of `node:https`: in Deno 2.9 that asks for the right to read the system's
 * authorities, of which none is trusted here.
 */
import dns from "node:dns";
import net from "node:net";
import tls from "node:tls";
import { isGranted } from "../../../shared/rights.ts";
import type { ControllerAddress } from "./controller_address.ts";
import { failureOf, type LinkFailure, timeoutFailure } from "./failure.ts";

export interface DialOptions {
  readonly address: ControllerAddress;
  /** PEM of the authorities to trust. */
  readonly ca: string;
  /** For name, connection and handshake together, in ms. */
  readonly timeout: number;
  /** Aborted, it ends with any failure at all. */
  readonly signal: AbortSignal;
}

export type Dialled =
  | { readonly ok: true; readonly socket: tls.TLSSocket }
  | { readonly ok: false; readonly failure: LinkFailure };

/** Never rejects. The caller hears the socket's errors from then on. */
export function dial({ address, ca, timeout, signal }: DialOptions): Promise<Dialled> {
  const { hostname, port } = address;
  const isName = net.isIP(hostname) === 0;
  return new Promise((resolve) => {
    let socket: tls.TLSSocket | null = null;
    let raw: net.Socket | null = null;
    const settle = () => {
      clearTimeout(late);
      signal.removeEventListener("abort", abort);
    };
    const fail = (failure: LinkFailure) => {
      settle();
      socket?.destroy();
      raw?.destroy();
      resolve({ ok: false, failure });
    };
    const abort = () => fail(failureOf(new Error("aborted"), address));
    const broken = (error: Error) => fail(failureOf(error, address));
    const late = setTimeout(
      () => fail(timeoutFailure(`connecting to ${hostname}:${port}`, timeout)),
      timeout,
    );
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      // Who may dial one host by its name alone may neither look it up nor choose an address.
      const lookup = isGranted({ name: "net" }) ? { lookup: anyAddress } : {};
      raw = net.connect({ host: hostname, port, ...lookup } as net.NetConnectOpts);
      // Both stay for good: a socket whose error nobody hears ends the process.
      raw.on("error", broken);
      raw.once("connect", () => {
        raw!.setNoDelay(true);
        try {
          socket = tls.connect({
            socket: raw!,
            ca,
            // SNI holds no addresses (RFC 6066, section 3).
            servername: isName ? hostname : "",
            ALPNProtocols: ["http/1.1"],
            minVersion: "TLSv1.2",
            rejectUnauthorized: true,
            checkServerIdentity: (_host, shown) => tls.checkServerIdentity(hostname, shown),
          } as tls.ConnectionOptions);
        } catch (error) {
          return broken(error as Error);
        }
        socket.on("error", broken);
        socket.once("close", () => broken(new Error("the peer closed it in the handshake")));
        socket.once("secureConnect", () => {
          settle();
          resolve({ ok: true, socket: socket! });
        });
      });
    } catch (error) {
      broken(error as Error);
    }
  });
}

type Addresses = (
  error: Error | null,
  addresses?: string | readonly dns.LookupAddress[],
  family?: number,
) => void;

/**
 * All addresses of a name, in an order by chance: the replicas of a controller share its proxies.
 */
function anyAddress(hostname: string, options: dns.LookupOptions, answer: Addresses): void {
  dns.lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null && error !== undefined) return answer(error);
    const addresses = shuffled(found);
    if (options.all) answer(null, addresses);
    else answer(null, addresses[0].address, addresses[0].family);
  });
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
