/**
 * A connection to an endpoint. In: address, port, how to secure it, the protocols that are offered, a
 * time limit. Out: a transport and the protocol that the endpoint chose, or a ProxyError:
 * `connect_failed`, `upstream_untrusted` where TLS fails, `upstream_refused` where `networks.ts`
 * forbids the address. The address is always an IP: names are resolved before (`dns.ts`), so that
 * what is dialled is what was allowed.
 */
import { isExhaustion } from "../io/descriptors.ts";
import { ProxyError } from "../errors.ts";
import { connectTcp } from "../io/tcp_connect.ts";
import { tcpTransport } from "../io/tcp_transport.ts";
import { Timeout } from "../io/timeout.ts";
import { closeQuietly, type Transport } from "../io/transport.ts";
import type { UpstreamNetworks } from "./networks.ts";
import { type ClientCertificate, dialForTls, secure, type Security } from "./tls.ts";

export interface ConnectOptions {
  /** In ms, for TCP and TLS together; 0 for no limit. */
  readonly timeout: number;
  readonly networks: UpstreamNetworks;
  /** The system has no descriptor left; it is asked again while time remains. */
  readonly onExhausted: () => void;
  /** The certificate that is shown to backends that ask for one, by its id. */
  readonly clientCertificate: (id: string) => ClientCertificate | null;
  /** What is offered by ALPN (RFC 7301), the best first; without a meaning for plain text. */
  readonly protocols: readonly string[];
}

/** An open connection. */
export interface Connected {
  readonly transport: Transport;
  /** What was chosen by ALPN; null where nothing was, and for plain text. */
  readonly protocol: string | null;
}

interface Destination {
  readonly address: string;
  readonly port: number;
  /** Null for plain text. */
  readonly security: Security | null;
}

/** The alert of RFC 7301 §3.2, as Deno words it. */
const NO_PROTOCOL = /NoApplicationProtocol/;

/** After the system had no descriptor, in ms. */
const RETRY = 50;

/** Connects within the time limit. `abort` ends the attempt early, with `client_gone`. */
export async function connect(
  destination: Destination,
  abort: AbortSignal,
  options: ConnectOptions,
): Promise<Connected> {
  const { address, port } = destination;
  const { timeout, networks } = options;
  const refusal = networks.refusal(address, port);
  if (refusal !== null) throw refused(address, port, refusal);
  const limit = new AbortController();
  const end = () => limit.abort();
  const timer = new Timeout(timeout, end);
  abort.addEventListener("abort", end, { once: true });
  try {
    const connected = await open(destination, limit.signal, options);
    if (abort.aborted) {
      closeQuietly(connected.transport);
      throw new ProxyError("client_gone");
    }
    return connected;
  } catch (error) {
    if (abort.aborted) throw new ProxyError("client_gone");
    if (error instanceof ProxyError) throw error;
    const why = limit.signal.aborted ? `no answer in ${timeout} ms` : describe(error);
    throw new ProxyError("connect_failed", `cannot connect to ${address}:${port}: ${why}`, {
      cause: error,
    });
  } finally {
    timer.cancel();
    abort.removeEventListener("abort", end);
  }
}

async function open(
  { address, port, security }: Destination,
  signal: AbortSignal,
  { networks, onExhausted, clientCertificate, protocols }: ConnectOptions,
): Promise<Connected> {
  if (security !== null) {
    const certificate = findCertificate(security, clientCertificate);
    const raw = await dial(() => dialForTls(address, port, signal), signal, onExhausted);
    const local = { hostname: raw.localAddress ?? "", port: raw.localPort ?? 0 };
    const remote = { hostname: raw.remoteAddress ?? "", port: raw.remotePort ?? 0 };
    if (networks.isOwn(local, remote)) {
      raw.destroy();
      throw refused(address, port, "this proxy's own listener");
    }
    return await secure(raw, { security, certificate, protocols }, signal).catch((error) => {
      if (signal.aborted) throw error;
      throw NO_PROTOCOL.test(describe(error))
        ? speaksNone({ address, port }, protocols, "refused the handshake")
        : untrusted(address, port, security, error);
    });
  }
  const connection = await dial(
    () => connectTcp({ hostname: address, port }, signal),
    signal,
    onExhausted,
  );
  if (networks.isOwn(connection.localAddr, connection.remoteAddr)) {
    connection.close();
    throw refused(address, port, "this proxy's own listener");
  }
  return { transport: tcpTransport(connection), protocol: null };
}

/**
 * Running out of descriptors is not the endpoint's fault, and idle ones are about to be freed. When
 * time is up before that, the shortage is what is thrown.
 */
async function dial<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal,
  onExhausted: () => void,
): Promise<T> {
  let shortage: unknown = null;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isExhaustion(error)) throw signal.aborted ? shortage ?? error : error;
      shortage = error;
      if (signal.aborted) throw error;
      onExhausted();
      await new Promise((resume) => setTimeout(resume, RETRY));
    }
  }
}

/** A backend that asks for a certificate is not asked without one. */
function findCertificate(
  { tls: { clientCertificate: id } }: Security,
  find: ConnectOptions["clientCertificate"],
): ClientCertificate | null {
  if (id === undefined) return null;
  const found = find(id);
  if (found === null) {
    throw new ProxyError("upstream_untrusted", `the client certificate ${id} cannot be used`);
  }
  return found;
}

function untrusted(
  address: string,
  port: number,
  { tls: { serverName } }: Security,
  error: unknown,
): ProxyError {
  return new ProxyError(
    "upstream_untrusted",
    `TLS with ${address}:${port} as ${serverName} failed: ${describe(error)}`,
    { cause: error },
  );
}

/** An endpoint speaks none of the protocols that it was offered; `did` says how it showed that. */
export function speaksNone(
  { address, port }: Pick<Destination, "address" | "port">,
  protocols: readonly string[],
  did: string,
): ProxyError {
  const offered = protocols.join(", ");
  return new ProxyError(
    "upstream_malformed",
    `${address}:${port} speaks none of what is offered by ALPN (${offered}): it ${did}`,
  );
}

function refused(address: string, port: number, why: string): ProxyError {
  return new ProxyError("upstream_refused", `will not dial ${address}:${port}: ${why}`);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
