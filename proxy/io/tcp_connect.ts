/**
 * A TCP connection to an IP address. In: an address and a signal. Out: the connection, or the signal's
 * reason as soon as it aborts.
 *
 * `Deno.connect` loses a connection that is made in the moment in which its signal aborts: the promise
 * rejects, the descriptor stays open until the process ends (Deno 2.9.6: 45 of 29,000 connections
 * whose clients went away meanwhile). So the operation goes on after an abort, and what it makes is
 * closed; only where nothing has come of it for `GRACE` is it cancelled.
 */
import { closeQuietly } from "./transport.ts";

/**
 * How much longer than its caller an attempt lasts, in ms: far longer than a handshake that succeeds
 * takes, so that the cancellation hits only one that gets no answer.
 */
const GRACE = 1_000;

/** Connects; rejects with the signal's reason, or as `Deno.connect` does. */
export function connectTcp(
  address: { readonly hostname: string; readonly port: number },
  signal: AbortSignal,
): Promise<Deno.TcpConn> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const cancel = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    const leave = () => {
      isLeft = true;
      timer = setTimeout(() => cancel.abort(), GRACE);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    const settle = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    };
    Deno.connect({ ...address, signal: cancel.signal }).then(
      (connection) => {
        settle();
        if (isLeft) closeQuietly(connection);
        else resolve(connection);
      },
      (error) => {
        settle();
        reject(error);
      },
    );
  });
}
