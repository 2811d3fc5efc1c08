import assert from "node:assert/strict";
import { H1_HALF_RATE } from "../cases/h1_half_rate.ts";
import { NEW_CONNECTIONS_HALF_RATE } from "../cases/new_connections_half_rate.ts";
import { OPEN_LOOP } from "./open_loop.ts";
import type { Case, LoadResult } from "../model.ts";

/** One second at this rate, after the half second that does not count. */
const RATE = 400;
const ALL = RATE * 1.5;

interface Answer {
  readonly text: string;
  /** For how long the whole server stands still before it, in ms. */
  readonly pause: number;
}

const GOOD = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
const BAD = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/** A server that answers the n-th request as `answerTo` says, and its load by two connections at a time. */
async function loaded(
  answerTo: (index: number) => Answer,
  half: Case = H1_HALF_RATE,
  onConnection: () => void = () => {},
): Promise<LoadResult> {
  const folder = await Deno.makeTempDir();
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let count = 0;
  let standing = Promise.resolve();
  const serve = async (connection: Deno.Conn) => {
    const buffer = new Uint8Array(1024);
    while (await connection.read(buffer) !== null) {
      const { text, pause } = answerTo(count++);
      if (pause > 0) standing = new Promise((resume) => setTimeout(resume, pause));
      await standing;
      await connection.write(new TextEncoder().encode(text));
    }
  };
  const accepting = (async () => {
    for await (const connection of listener) {
      onConnection();
      serve(connection).catch(() => {}).finally(() => connection.close());
    }
  })();
  const what: Case = { ...half, connections: 2 };
  const meter = { begin: () => {}, end: () => {}, rest: () => Promise.resolve() };
  const address = { hostname: "127.0.0.1", port: listener.addr.port };
  try {
    return await OPEN_LOOP.run({ address, tls: null }, what, 1, folder, meter, RATE);
  } finally {
    listener.close();
    await accepting.catch(() => {});
    await Deno.remove(folder, { recursive: true });
  }
}

const ignore = Deno.build.os !== "linux";

Deno.test(
  "a server that stalls is late for all requests of that time",
  { ignore },
  async () => {
    // Two connections wait for it; a closed loop would see two slow answers of four hundred.
    const result = await loaded((index) => ({ text: GOOD, pause: index === ALL / 2 ? 300 : 0 }));
    assert.equal(result.count, RATE);
    assert.equal(result.errors, 0);
    assert.ok(result.p99 > 200, `p99 is ${result.p99} ms`);
  },
);

Deno.test("rejections are errors, not responses", { ignore }, async () => {
  const result = await loaded((index) => ({ text: index >= ALL - 10 ? BAD : GOOD, pause: 0 }));
  assert.equal(result.errors, 10);
  assert.equal(result.count, RATE - 10);
});

Deno.test("clients that come once have a new connection each", { ignore }, async () => {
  let connections = 0;
  const result = await loaded(
    (index) => ({ text: index === ALL - 1 ? BAD : GOOD, pause: 0 }),
    NEW_CONNECTIONS_HALF_RATE,
    () => connections++,
  );
  assert.deepEqual([result.count, result.errors, connections], [RATE - 1, 1, ALL]);
});
