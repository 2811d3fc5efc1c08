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
  /** Of the host a.test, where TLS is spoken. */
  readonly authority?: string;
  readonly made: Int32Array;
}

self.onmessage = async ({ data }: MessageEvent<Dialling>) => {
  const { port, count, request, authority, made } = data;
  const bytes = new TextEncoder().encode(request);
  const connections: (Deno.TcpConn | Deno.TlsConn)[] = [];
  for (let i = 0; i < count; i++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    if (authority === undefined) {
      await connection.write(bytes);
      connections.push(connection);
    } else connections.push(await Deno.startTls(connection, tlsOptions(authority)));
    Atomics.store(made, 0, connections.length);
    Atomics.notify(made, 0);
  }
  // Handshakes need the other thread, which stands still until now.
  const asking = authority === undefined ? new Uint8Array(0) : bytes;
  self.postMessage(await Promise.all(connections.map((each) => statusOf(each, asking))));
};

function tlsOptions(authority: string): Deno.StartTlsOptions {
  return { hostname: "a.test", caCerts: [authority] };
}

/** @param asking What is to be written before. */
async function statusOf(
  connection: Deno.TcpConn | Deno.TlsConn,
  asking: Uint8Array,
): Promise<number> {
  try {
    if (asking.length > 0) await connection.write(asking);
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
