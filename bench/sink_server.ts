/**
 * A backend with next to no cost of its own. In: a port, and requests with a length or without a
 * body. Out: `/1mib` gets 1 MiB, `/chunked` 64 KiB in 64 chunks, each of them written by itself, a
 * request with a body the number of its bytes, all others 6 bytes, after the request's body has been
 * read.
 * It trusts its clients (the benchmark's proxies), and is no example of an HTTP server.
 */
const SMALL = response(encode("hello\n"));
const LARGE = response(new Uint8Array(1024 * 1024).fill(120));
const CHUNKED = encode(
  "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n",
);
const CHUNKS = 64;
const CHUNK = encode(`400\r\n${"x".repeat(0x400)}\r\n`);
const LAST_CHUNK = encode("0\r\n\r\n");
const END = [13, 10, 13, 10];

function response(body: Uint8Array): Uint8Array {
  const head = encode(
    `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  const whole = new Uint8Array(head.length + body.length);
  whole.set(head);
  whole.set(body, head.length);
  return whole;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Says that a body has come whole. */
function counted(length: number): Uint8Array {
  return response(encode(`${length}\n`));
}

function chosen(head: string): Uint8Array {
  return head.startsWith("get /1mib ") ? LARGE : SMALL;
}

async function serve(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(256 * 1024);
  const decoder = new TextDecoder("latin1");
  let filled = 0;
  while (true) {
    const count = await connection.read(buffer.subarray(filled));
    if (count === null) return;
    filled += count;
    const end = endOfHead(buffer.subarray(0, filled));
    if (end === -1) continue;
    const head = decoder.decode(buffer.subarray(0, end)).toLowerCase();
    const length = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0);
    let left = length - (filled - end);
    while (left > 0) {
      const more = await connection.read(buffer);
      if (more === null) return;
      left -= more;
    }
    filled = 0;
    if (head.startsWith("get /chunked ")) await writeChunks(connection);
    else await writeAll(connection, length > 0 ? counted(length) : chosen(head));
  }
}

/** Where the body begins, or -1. */
function endOfHead(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(13); at !== -1; at = bytes.indexOf(13, at + 1)) {
    if (END.every((byte, offset) => bytes[at + offset] === byte)) return at + END.length;
  }
  return -1;
}

/** As they are made: connections take turns after each. */
async function writeChunks(connection: Deno.Conn): Promise<void> {
  await writeAll(connection, CHUNKED);
  for (let sent = 0; sent < CHUNKS; sent++) await writeAll(connection, CHUNK);
  await writeAll(connection, LAST_CHUNK);
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
