/**
 * A backend of event streams with next to no cost of its own. In: a port, and one request on each
 * connection. Out: an answer that never ends, with one event a second that says when it was sent, in
 * µs since 1970. It trusts its clients (the benchmark's proxies), and is no example.
 */
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n" +
  // nginx would hold events back until a buffer is full; no other proxy reads this.
  "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n";

/** Streams take turns, so that the proxy sees single events and not bursts. */
const TURNS = 100;

const encoder = new TextEncoder();
const streams: Set<Deno.Conn>[] = Array.from({ length: TURNS }, () => new Set());
let opened = 0;

async function serve(connection: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(4096);
  if (await connection.read(buffer) === null) return;
  const turn = streams[opened++ % TURNS];
  await connection.write(encoder.encode(HEAD + event()));
  turn.add(connection);
  try {
    while (await connection.read(buffer) !== null);
  } finally {
    turn.delete(connection);
  }
}

/** `data: 1795306782726093`, and an empty line, as a chunk of 24 bytes. */
function event(): string {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
  return `18\r\ndata: ${micros}\n\n\r\n`;
}

const begin = performance.now();
let turn = 0;
setInterval(() => {
  const bytes = encoder.encode(event());
  // On a busy machine ticks are late or left out; no stream's turn is.
  for (const due = (performance.now() - begin) * TURNS / 1000; turn < due; turn++) {
    // A stream that goes away meanwhile is no event here; its reader sees it too.
    for (const connection of streams[turn % TURNS]) connection.write(bytes).catch(() => {});
  }
}, 1000 / TURNS);

const listener = Deno.listen({ hostname: "127.0.0.1", port: Number(Deno.args[0]) });
for await (const connection of listener) {
  connection.setNoDelay(true);
  serve(connection).catch(() => {}).finally(() => connection.close());
}
