/** The access log in nginx's format, beside nginx's own for the same requests. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { skip } from "./go_program.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";

/** All that a header's value may have within it, one byte each. */
const BYTES = [0x09, ...range(0x20, 0x7f), ...range(0x80, 0x100)];
const ALL_BYTES = String.fromCharCode(...BYTES);

const REQUESTS = [
  "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
  "GET /a/../b%20c?x=%22y%22&z='\\' HTTP/1.1\r\nHost: a.test\r\nUser-Agent: curl/8.5.0\r\n\r\n",
  `HEAD /a HTTP/1.1\r\nHost: a.test\r\nUser-Agent: x${ALL_BYTES}x\r\n\r\n`,
  `DELETE /a HTTP/1.1\r\nHost: a.test\r\nReferer: x${ALL_BYTES}x\r\n\r\n`,
  'GET /a HTTP/1.1\r\nHost: a.test\r\nReferer: https://b.test/"\r\nUser-Agent: \\"\r\n\r\n',
  "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc",
  "GET /a HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n",
  "GET /a HTTP/1.0\r\n\r\n",
];

/** No request line, or one that cannot be served; nginx refuses them too, if not with the same status. */
const MALFORMED = [
  "GET /%zz HTTP/1.1",
  "GET /a%0 HTTP/1.1",
  "GET /../a?token=1 HTTP/1.1",
  "GET /a%00b HTTP/1.1",
  'GET /%zz"\\?x="y" HTTP/1.1',
  "GET a HTTP/1.1",
  "GET ftp://b.test/ HTTP/1.1",
  "GET http:///a HTTP/1.1",
  "GET /a\tb HTTP/1.1",
  "GET /\x01\x7f HTTP/1.1",
  "GET /a HTTP/3.0",
  "GET /a HTTP/9.9 more",
  "GET /a HTTX/1.1",
  "GET /a http/1.1",
  "GET  HTTP/1.1",
  " GET /a HTTP/1.1",
  "G\xe9T /a HTTP/1.1",
  "get\t/a",
  "TRACE /a HTTP/1.1",
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03abc"\\',
];

/** Lines of both, for the same requests, each on a connection of its own unless it is a list. */
async function linesOfBoth(
  requests: readonly (string | readonly string[])[],
  ask: (client: Peer, request: string) => Promise<void>,
): Promise<{ readonly theirs: readonly string[]; readonly ours: readonly string[] } | null> {
  const program = await findNginx();
  if (program === null) return skip("nginx_access_log", MISSING);
  await using backend = new Backend();
  const folder = await Deno.makeTempDir({ prefix: "nginx-log-" });
  await Deno.chmod(folder, 0o777);
  const file = join(folder, "access.log");
  const nginx = await Nginx.startWith(
    program,
    (port) =>
      `  server {
    access_log ${file} combined;
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${backend.port};
    }
  }
`,
  );
  using observed = new ObservedProxy([backend.port], { accessLog: { format: "nginx" } });
  try {
    for (const request of requests) {
      for (const port of [nginx.port, observed.port]) {
        using client = await Peer.connect(port);
        for (const one of [request].flat()) await ask(client, one);
      }
    }
  } finally {
    // It has written all of its log by then.
    await nginx.stop();
  }
  const theirs = (await Deno.readTextFile(file)).split("\n").slice(0, -1);
  await Deno.remove(folder, { recursive: true });
  return { theirs, ours: await observed.textLines() };
}

Deno.test("--access-log-format=nginx writes what nginx writes", async () => {
  const both = await linesOfBoth(REQUESTS, async (client, request) => {
    const kind = request.startsWith("HEAD") ? "response to HEAD" : "response";
    assert.equal(statusOf(await client.ask(request, kind)), 200, request);
  });
  if (both === null) return;
  const { theirs, ours } = both;
  const withoutTime = (line: string) =>
    line.replace(/\[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\]/, "[time]");
  assert.equal(theirs.length, REQUESTS.length);
  // With TZ=UTC of this machine; another zone is nginx's own.
  const zoned = theirs.map((line) => line.replace(/ [+-]\d{4}\]/, " +0000]"));
  assert.deepEqual(ours.map(withoutTime), zoned.map(withoutTime));
});

Deno.test("--access-log-format=nginx has a malformed request line as nginx has it", async () => {
  const good = "GET /before?x=1 HTTP/1.1\r\nHost: a.test\r\n\r\n";
  const requests = MALFORMED.map((line) => [good, `${line}\r\nHost: a.test\r\n\r\n`]);
  const both = await linesOfBoth(requests, async (client, request) => {
    await client.ask(request);
  });
  if (both === null) return;
  const requestOf = (line: string) => /\] ("(?:[^"\\]|\\.)*") \d{3} /.exec(line)?.[1] ?? line;
  assert.equal(both.theirs.length, 2 * MALFORMED.length);
  assert.deepEqual(both.ours.map(requestOf), both.theirs.map(requestOf));
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
