/**
 * Bytes both ways between a client and a backend that have switched protocols. In: two ends. Out:
 * what each says, to the other, until both have said their last, one breaks, or nothing has moved
 * for too long.
 */
import { type Deadlined, type Deadlines } from "./deadlines.ts";
import { asProxyError, ProxyError } from "./errors.ts";
import type { Duplex } from "./message.ts";

/**
 * Runs a tunnel to its end. `idleTimeout` is in ms, of silence on both sides. Resolves with null, or
 * with why it was cut; both ends are closed then.
 */
export async function runTunnel(
  client: Duplex,
  backend: Duplex,
  idleTimeout: number,
  deadlines: Deadlines,
): Promise<ProxyError | null> {
  let failure: ProxyError | null = null;
  const cut = (error: ProxyError) => {
    failure ??= error;
    client.abort(error);
    backend.abort(error);
  };
  const idle: Deadlined & { deadline: number } = {
    deadline: deadlines.in(idleTimeout),
    check(now) {
      if (now >= this.deadline) cut(new ProxyError("tunnel_idle"));
    },
  };
  const carry = async (from: Duplex, to: Duplex) => {
    try {
      for (;;) {
        const view = await from.body.read();
        if (view === null) break;
        idle.deadline = deadlines.in(idleTimeout);
        await to.write(view);
      }
      await to.end();
    } catch (error) {
      cut(asProxyError(error, "internal"));
    }
  };
  deadlines.add(idle);
  try {
    await Promise.all([carry(client, backend), carry(backend, client)]);
  } finally {
    deadlines.delete(idle);
  }
  return failure;
}
