/**
 * A WebSocket backend with next to no cost of its own. In: a port, and messages of up to 125 bytes.
 * Out: each comes back. It trusts its clients (the benchmark's proxies), and is no example.
 */
import { acceptOf, CLOSE, frameLength, unmask } from "./websocket_frame.ts";

async function serve(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(16 * 1024);
  let filled = 0;
  let head = "";
  while (!head.endsWith("\r\n\r\n")) {
    const count = await connection.read(buffer);
    if (count === null) return;
    head += new TextDecoder().decode(buffer.subarray(0, count));
  }
  const key = /\r\nsec-websocket-key: *([^\r ]+)/i.exec(head)?.[1] ?? "";
  await writeAll(
    connection,
    new TextEncoder().encode(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`,
    ),
  );
  while (true) {
    const count = await connection.read(buffer.subarray(filled));
    if (count === null) return;
    filled += count;
    let start = 0;
    let length = frameLength(buffer, start, filled);
    for (; length > 0; length = frameLength(buffer, start, filled)) {
      const isClose = (buffer[start] & 0x0f) === CLOSE;
      await writeAll(connection, unmask(buffer.subarray(start, start + length)));
      if (isClose) return;
      start += length;
    }
    if (length === -1) return;
    buffer.copyWithin(0, start, filled);
    filled -= start;
  }
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}

const listener = Deno.listen({ hostname: "127.0.0.1", port: Number(Deno.args[0]) });
for await (const connection of listener) {
  connection.setNoDelay(true);
  // A client that goes away in the middle is no event here.
  serve(connection).catch(() => {}).finally(() => connection.close());
}
