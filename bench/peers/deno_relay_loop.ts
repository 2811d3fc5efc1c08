/**
 * The least that a proxy in Deno does: what comes on a connection goes to another, as it is, by the
 * operations below `Deno.Conn`. In: ports to listen on and to dial. Out: a relay, in a worker as
 * Pingress has its own. It is a floor to compare with, and no example.
 */
import { findOperations } from "../../proxy/io/tcp_transport.ts";
import { limitIoEvents } from "../../proxy/process/io_turns.ts";

const { read, write, internalRidSymbol } = findOperations()!;

async function carry(from: number, to: number): Promise<void> {
  const buffer = new Uint8Array(4096);
  while (true) {
    const count = await read(from, buffer);
    if (count === 0) return;
    let sent = 0;
    while (sent < count) sent += await write(to, buffer.subarray(sent, count));
  }
}

async function relay(client: Deno.TcpConn, port: number): Promise<void> {
  using backend = await Deno.connect({ hostname: "127.0.0.1", port });
  const [one, other] = [client, backend].map((connection) => {
    connection.setNoDelay(true);
    return (connection as unknown as Record<symbol, number>)[internalRidSymbol];
  });
  await Promise.race([carry(one, other), carry(other, one)]);
}

async function listen([listen, dial]: readonly number[]): Promise<void> {
  for await (const client of Deno.listen({ hostname: "127.0.0.1", port: listen })) {
    // Whoever goes away in the middle is no event here.
    relay(client, dial).catch(() => {}).finally(() => client.close());
  }
}

if ("WorkerGlobalScope" in globalThis) {
  self.addEventListener("message", (event) => listen((event as MessageEvent<number[]>).data));
} else {
  limitIoEvents(Deno.env);
  new Worker(import.meta.url, { type: "module" }).postMessage(Deno.args.map(Number));
}
