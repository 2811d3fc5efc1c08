/**
 * Connections from another thread, while this one stands still. In: a message with a port, a count, a
 * request and shared memory. Out: in its first number how many have been made; then a message with the
 * status of each answer, 0 where the connection was reset.
 */
/// <reference lib="deno.worker" />

export interface Dialling {
  readonly port: number;
  readonly count: number;
  readonly request: string;
  readonly made: Int32Array;
}

self.onmessage = async ({ data }: MessageEvent<Dialling>) => {
  const { port, count, request, made } = data;
  const connections: Deno.TcpConn[] = [];
  for (let i = 0; i < count; i++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(new TextEncoder().encode(request));
    connections.push(connection);
    Atomics.store(made, 0, connections.length);
    Atomics.notify(made, 0);
  }
  self.postMessage(await Promise.all(connections.map(statusOf)));
};

async function statusOf(connection: Deno.TcpConn): Promise<number> {
  try {
    const bytes = new Uint8Array(4096);
    const count = await connection.read(bytes);
    const text = new TextDecoder().decode(bytes.subarray(0, count ?? 0));
    return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  } finally {
    connection.close();
  }
}
