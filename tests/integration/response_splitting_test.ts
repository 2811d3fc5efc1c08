/** What a client writes never becomes a line, or a second answer, of its own. */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import { Random } from "../fuzz/random.ts";
import { Peer } from "../support/backend.ts";
import { certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const CERTIFICATE = await certificateFor("a", { names: ["a.test"] });

const LOOPBACK = CidrList.parse("127.0.0.1");
assert.ok(typeof LOOPBACK !== "string");

const TEXT = ["a", "/", "?", "%0d%0a", "%0D%0AX-Injected:%201", "%00", "\r", "\n", "\0", "\r\n"]
  .concat(["\r\nX-Injected: 1", "\x8d\x8a", "\xc4\x8d\xc4\x8a", " ", "\t", ";"]);

const LINE =
  /^(Location|Content-Type|Cache-Control|X-Request-Id|Retry-After|Allow|Server|Date|Content-Length|Connection): [\x20-\x7e]*$/;

function randomText(random: Random): string {
  return Array.from({ length: random.below(5) }, () => random.pick(TEXT)).join("");
}

Deno.test("redirects and error pages are well-formed for any target, Host and request id", async () => {
  using proxy = await TlsProxy.start({
    certificates: [CERTIFICATE],
    sslRedirect: true,
    trustedProxies: LOOPBACK,
  });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  const random = new Random(36);
  const seen = new Map<string, number>();
  for (let i = 0; i < 400; i++) {
    using client = await Peer.connect(port);
    const host = random.oneIn(6) ? `a.test${randomText(random)}` : random.pick(["a.test", "b"]);
    const text = `GET /${randomText(random)} HTTP/1.1\r\nHost: ${host}\r\n` +
      `X-Request-Id: i${randomText(random)}\r\n\r\n`;
    const answer = await client.ask(text);
    assert.ok(answer.complete, text);
    const [status, ...lines] = answer.head.slice(0, -4).split("\r\n");
    assert.match(status, /^HTTP\/1\.1 (308|400|503) [A-Z][A-Za-z ]*$/, text);
    seen.set(status.slice(9, 12), (seen.get(status.slice(9, 12)) ?? 0) + 1);
    for (const line of lines) assert.match(line, LINE, text);
    assert.equal(new Set(lines.map((line) => line.split(":")[0])).size, lines.length, text);
  }
  for (const status of ["308", "400", "503"]) {
    assert.ok((seen.get(status) ?? 0) > 20, `${status}: ${seen.get(status)}`);
  }
});
