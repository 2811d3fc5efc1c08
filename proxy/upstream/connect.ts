/**
 * TCP to an endpoint. In: address, port, a time limit. Out: a transport, or a ProxyError
 * `connect_failed`, or `upstream_refused` where `networks.ts` forbids the address. The address is
 * always an IP: names are resolved before (`dns.ts`), so that what is dialled is what was allowed.
 */
import { isExhaustion } from "../descriptors.ts";
import { ProxyError } from "../errors.ts";
import type { Transport } from "../transport.ts";
import type { UpstreamNetworks } from "./networks.ts";

export interface ConnectOptions {
  /** In ms; 0 for no limit. */
  readonly timeout: number;
  readonly networks: UpstreamNetworks;
  /** The system has no descriptor left; it is asked again while time remains. */
  readonly onExhausted: () => void;
}

interface Destination {
  readonly address: string;
  readonly port: number;
}

/** After the system had no descriptor, in ms. */
const RETRY = 50;

/** Connects within the time limit. `abort` ends the attempt early, with `client_gone`. */
export async function connect(
  destination: Destination,
  abort: AbortSignal,
  { timeout, networks, onExhausted }: ConnectOptions,
): Promise<Transport> {
  const { address, port } = destination;
  const refusal = networks.refusal(address, port);
  if (refusal !== null) throw refused(address, port, refusal);
  const limit = new AbortController();
  const end = () => limit.abort();
  const timer = timeout === 0 ? undefined : setTimeout(end, timeout);
  abort.addEventListener("abort", end, { once: true });
  try {
    const connection = await dial(destination, limit.signal, onExhausted);
    if (abort.aborted) {
      connection.close();
      throw new ProxyError("client_gone");
    }
    if (networks.isOwn(connection.localAddr, connection.remoteAddr)) {
      connection.close();
      throw refused(address, port, "this proxy's own listener");
    }
    // Heads and small bodies go out in one write each: waiting for more only adds delay.
    connection.setNoDelay(true);
    return connection;
  } catch (error) {
    if (abort.aborted) throw new ProxyError("client_gone");
    if (error instanceof ProxyError) throw error;
    const why = limit.signal.aborted ? `no answer in ${timeout} ms` : describe(error);
    throw new ProxyError("connect_failed", `cannot connect to ${address}:${port}: ${why}`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    abort.removeEventListener("abort", end);
  }
}

/** Running out of descriptors is not the endpoint's fault, and idle ones are about to be freed. */
async function dial(
  { address, port }: Destination,
  signal: AbortSignal,
  onExhausted: () => void,
): Promise<Deno.TcpConn> {
  for (;;) {
    try {
      return await Deno.connect({ hostname: address, port, signal });
    } catch (error) {
      if (!isExhaustion(error) || signal.aborted) throw error;
      onExhausted();
      await new Promise((resume) => setTimeout(resume, RETRY));
    }
  }
}

function refused(address: string, port: number, why: string): ProxyError {
  return new ProxyError("upstream_refused", `will not dial ${address}:${port}: ${why}`);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
