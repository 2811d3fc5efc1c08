/** Requests of few bytes whose heads are dear: HPACK repeats one large field in each of them. */
import assert from "node:assert/strict";
import { Peer, statusOf } from "../support/backend.ts";
import {
  get,
  headers,
  indexed,
  join,
  literal,
  literals,
  remembered,
} from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const COUNT = 30;
/** With its name and 32 bytes just as large as the table that a client may fill. */
const DEAR = ["accept", ';""'.repeat((4096 - 32 - "accept".length) / 3)] as const;

Deno.test("a burst of requests with a hostile Accept gets responses, and affects nobody else", async () => {
  await using proxy = await ProxyProcess.start({
    snapshot: { ...snapshotOf([]), routes: [], upstreams: [] },
    args: ["--workers=2"],
  });
  await using peer = await H2Peer.connect(proxy.httpPort);
  const head = literals(get("/"));
  await peer.send(headers(1, join(head, remembered(DEAR)), { end: true }));
  const hostile = join(
    head,
    literal(["accept", 'a/b;"']),
    ...Array.from({ length: 7 }, () => indexed(62)),
  );
  const streams = Array.from({ length: COUNT }, (_, i) => 3 + 2 * i);
  await peer.send(...streams.map((stream) => headers(stream, hostile, { end: true })));
  for (const stream of [1, ...streams]) assert.equal((await peer.answer(stream)).status, 404);
  using honest = await Peer.connect(proxy.httpPort);
  assert.equal(statusOf(await honest.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")), 404);
  assert.equal(proxy.code, null);
  assert.ok(!proxy.lines.some(({ message }) => message === "Draining"));
});
