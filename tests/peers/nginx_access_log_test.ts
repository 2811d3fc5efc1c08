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

Deno.test("--access-log-format=nginx writes what nginx writes", async () => {
  const program = await findNginx();
  if (program === null) return void skip("nginx_access_log", MISSING);
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
    for (const request of REQUESTS) {
      for (const port of [nginx.port, observed.port]) {
        using client = await Peer.connect(port);
        const kind = request.startsWith("HEAD") ? "response to HEAD" : "response";
        assert.equal(statusOf(await client.ask(request, kind)), 200, request);
      }
    }
  } finally {
    // It has written all of its log by then.
    await nginx.stop();
  }
  const theirs = (await Deno.readTextFile(file)).split("\n").slice(0, -1);
  await Deno.remove(folder, { recursive: true });
  const ours = await observed.textLines();
  const withoutTime = (line: string) =>
    line.replace(/\[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000\]/, "[time]");
  assert.equal(theirs.length, REQUESTS.length);
  // With TZ=UTC of this machine; another zone is nginx's own.
  const zoned = theirs.map((line) => line.replace(/ [+-]\d{4}\]/, " +0000]"));
  assert.deepEqual(ours.map(withoutTime), zoned.map(withoutTime));
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
