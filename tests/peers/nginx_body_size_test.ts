/**
 * `proxy-body-size` beside nginx. In: limits in all ways of writing, and bodies around them, with a length
 * and in chunks. Out: the same status, and for bodies with a length, whether the backend gets the request.
 */
import assert from "node:assert/strict";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Peer, recordingBackend, statusOf } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { Random } from "../fuzz/random.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";

const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
/** With how many bytes each admits; Infinity for no limit. */
const LIMITS: readonly (readonly [value: string, bytes: number])[] = [
  ...[["0", Infinity], ["1", 1], ["100", 100], ["0100", 100], ["1k", 1024], ["1K", 1024]] as const,
  ...[["8k", 8192], ["64k", 65_536], ["65537", 65_537]] as const,
];
/** Random ones, of at most so many bytes. */
const MORE = 20;
const LARGEST = 32 * 1024;

/** Status, and whether the backend got the request, which has a path of its own. */
async function outcome(port: number, path: string, rest: string, received: readonly string[]) {
  using client = await Peer.connect(port);
  const status = statusOf(await client.ask(`POST ${path} HTTP/1.1\r\n${rest}`));
  return { status, isForwarded: received.some((head) => head.startsWith(`POST ${path} `)) };
}

Deno.test("proxy-body-size admits the same bodies as client_max_body_size of nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const limits = [
    ...LIMITS,
    ...Array.from({ length: MORE }, () => {
      const bytes = random.between(1, LARGEST);
      return [String(bytes), bytes] as const;
    }),
  ];
  const received: string[] = [];
  await using backend = recordingBackend(received);
  const servers = (port: number) =>
    limits.map(([value], i) =>
      `  server {
    listen 127.0.0.1:${port};
    server_name h${i}.test;
    error_log /dev/null crit;
    client_max_body_size ${value};
    location / { proxy_pass http://127.0.0.1:${backend.port}; }
  }`
    ).join("\n");
  const nginx = await Nginx.startWith(program, servers);
  try {
    using proxy = new TestProxy([]);
    const ingresses = Object.fromEntries(
      limits.map(([value], i) => [`i${i}`, {
        host: `h${i}.test`,
        annotations: { "proxy-body-size": value },
        paths: [["/", "Prefix"]] as const,
      }]),
    );
    proxy.server.apply(annotatedSnapshot(ingresses, [backend.port], "nginx"));
    let pairs = 0;
    for (const [i, [value, bytes]] of limits.entries()) {
      const limit = bytes === Infinity ? LARGEST : bytes;
      for (const length of new Set([0, limit - 1, limit, limit + 1, 2 * limit])) {
        const body = "x".repeat(length);
        const chunk = length === 0 ? "" : `${length.toString(16)}\r\n${body}\r\n`;
        const framings = [
          ["length", `Content-Length: ${length}\r\n\r\n${body}`],
          ["chunked", `Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`],
        ];
        for (const [framing, rest] of framings) {
          const lines = `Host: h${i}.test\r\nConnection: close\r\n${rest}`;
          const theirs = await outcome(nginx.port, `/nginx/${pairs}`, lines, received);
          const ours = await outcome(proxy.port, `/pingress/${pairs}`, lines, received);
          const words = `${value}: ${length} bytes, ${framing}`;
          assert.equal(ours.status, theirs.status, words);
          assert.equal(ours.status, length > bytes ? 413 : 200, words);
          // In chunks, ours is on its way when it turns out to be too long.
          if (framing === "length") assert.equal(ours.isForwarded, theirs.isForwarded, words);
          pairs++;
        }
      }
    }
    assert.ok(pairs >= 100, `${pairs}`);
  } finally {
    await nginx.stop();
  }
});
