/** What a backend that breaks HTTP/2's rules does to its own requests, and what is said of it. */
import assert from "node:assert/strict";
import type { Limits } from "../../proxy/http/limits.ts";
import { Peer, statusOf, until } from "../support/backend.ts";
import {
  CODE,
  continuation,
  data,
  FRAME,
  frame,
  goAway,
  headers,
  join,
  literals,
  ping,
  priority,
  repeat,
  rstStream,
  SETTING,
  settings,
  SETTINGS_ACK,
  windowUpdate,
} from "../support/h2_frames.ts";
import { bytesOf } from "../support/latin1.ts";
import { H2Backend, type H2Peer, type H2PeerOptions } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const OK = [[":status", "200"]] as const;

interface HostileCase {
  readonly name: string;
  /** What the backend sends once it has been asked, on stream 1. */
  readonly says: Uint8Array | readonly Uint8Array[];
  /** It closes its half after that. */
  readonly closes?: boolean;
  /** Sent in place of what a server begins with, and nothing else is. */
  readonly greets?: Uint8Array;
  readonly request?: string;
  /** A status; the body of a whole 200; or `cut`, an answer that never passes for whole. */
  readonly client: number | { readonly whole: string } | "cut";
  /** What the log says of it. */
  readonly log?: RegExp;
  /** Codes that the backend is told, of RST_STREAM or GOAWAY. */
  readonly told?: number;
  readonly limits?: Partial<Limits>;
}

const refused = (name: string, says: HostileCase["says"], log: RegExp): HostileCase => ({
  name,
  says,
  client: 502,
  log,
});
/** A head with this in it. */
const head = (
  name: string,
  fields: readonly (readonly [string, string])[],
  log: RegExp,
): HostileCase => ({ ...refused(name, headers(1, fields, { end: true }), log), told: 1 });
/** What ends the connection with GOAWAY and this code. */
const fatal = (
  name: string,
  says: HostileCase["says"],
  told: number,
  log: RegExp,
): HostileCase => ({ ...refused(name, says, log), told });

const malformed = /^upstream_malformed: /;

const CASES: readonly HostileCase[] = [
  // Not HTTP/2 at all.
  {
    name: "responds in HTTP/1.1",
    greets: bytesOf("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    says: [],
    client: 502,
    log: /^upstream_malformed: .*an answer of HTTP\/1\.1 to the preface of HTTP\/2/,
  },
  {
    name: "responds in another protocol",
    greets: bytesOf("220 mail.example ESMTP ready, and waiting for you\r\n"),
    says: [],
    client: 502,
    log: malformed,
  },
  {
    name: "begins with another frame than SETTINGS",
    greets: join(ping(1), settings()),
    says: [],
    client: 502,
    log: /^upstream_malformed: PROTOCOL_ERROR: the first frame is not SETTINGS/,
    told: CODE.PROTOCOL_ERROR,
  },
  {
    name: "closes without a response",
    greets: new Uint8Array(0),
    says: [],
    closes: true,
    client: 502,
    log: /^upstream_closed: /,
  },
  {
    name: "never sends SETTINGS",
    greets: new Uint8Array(0),
    says: [],
    client: 502,
    log: /^connect_failed: no SETTINGS from .* in 100 ms/,
    limits: { connectTimeout: 100 },
  },
  {
    name: "allows no streams",
    greets: settings([[SETTING.MAX_CONCURRENT_STREAMS, 0]]),
    says: [],
    client: 502,
    log: /^connect_failed: .* takes no streams/,
  },
  {
    name: "enables push, which servers may not",
    greets: settings([[SETTING.ENABLE_PUSH, 1]]),
    says: [],
    client: 502,
    log: /^upstream_malformed: PROTOCOL_ERROR: bad SETTINGS_ENABLE_PUSH/,
  },
  // Heads.
  head("no :status", [["server", "x"]], /a head without :status/),
  head("an empty head", [], /a head without :status/),
  head("two :status", [...OK, [":status", "201"]], /:status twice/),
  head(":status behind a field", [["server", "x"], ...OK], /:status behind a field/),
  head("a :status of letters", [[":status", "abc"]], /:status is no status/),
  head("a :status of two digits", [[":status", "20"]], /:status is no status/),
  head("a :status past 599", [[":status", "600"]], /a :status that is none/),
  head("101", [[":status", "101"]], /101 \(Switching Protocols\)/),
  head("an interim head that ends", [[":status", "103"]], /an interim head that ends the stream/),
  head("a request's pseudo-field", [...OK, [":path", "/"]], /a request's pseudo-field/),
  head("an unknown pseudo-field", [...OK, [":reason", "OK"]], /unknown pseudo-field/),
  head("upper case in a name", [...OK, ["Server", "x"]], /upper case in a field name/),
  head("a blank in a name", [...OK, ["a b", "x"]], /bad byte in a field name/),
  head("an empty name", [...OK, ["", "x"]], /empty field name/),
  head("CR LF in a value", [...OK, ["a", "x\r\nset-cookie: y"]], /bad byte in a field value/),
  head("NUL in a value", [...OK, ["a", "x\0"]], /bad byte in a field value/),
  head("white space around a value", [...OK, ["a", " x"]], /white space around a field value/),
  head("connection", [...OK, ["connection", "close"]], /the field connection/),
  head("keep-alive", [...OK, ["keep-alive", "timeout=5"]], /the field keep-alive/),
  head("transfer-encoding", [...OK, ["transfer-encoding", "chunked"]], /transfer-encoding/),
  head("upgrade", [...OK, ["upgrade", "h2c"]], /the field upgrade/),
  head("two lengths", [...OK, ["content-length", "0"], ["content-length", "0"]], /two content-/),
  head("a length of letters", [...OK, ["content-length", "1x"]], /that is no length/),
  head("a length, and no DATA", [...OK, ["content-length", "1"]], /less DATA than content-length/),
  refused("a head that is too large", [
    headers(1, literals([...OK, ["a", "x".repeat(10_000)]]), { endHeaders: false }),
    ...Array.from(
      { length: 6 },
      (_, i) => continuation(1, literals([["b", "x".repeat(10_000)]]), i === 5),
    ),
  ], /a head that is too large/),
  refused(
    "too many fields",
    headers(1, [...OK, ...Array.from({ length: 201 }, (_, i) => [`x-${i}`, "y"] as const)]),
    /a head that is too large/,
  ),
  refused(
    "interim heads without end",
    repeat(65, () => headers(1, [[":status", "103"]])),
    /interim heads without end/,
  ),
  // Bodies.
  refused("DATA before a head", data(1, "x", { end: true }), /DATA before a head/),
  refused("an end without an answer", data(1, "", { end: true }), /an end without an answer/),
  refused(
    "DATA behind an interim head",
    join(headers(1, [[":status", "103"]]), data(1, "x")),
    /DATA before a head/,
  ),
  {
    name: "more DATA than content-length",
    says: join(headers(1, [...OK, ["content-length", "1"]]), data(1, "xyz", { end: true })),
    client: "cut",
    log: /more DATA than content-length/,
    told: CODE.PROTOCOL_ERROR,
  },
  {
    name: "less DATA than content-length",
    says: join(headers(1, [...OK, ["content-length", "5"]]), data(1, "xyz", { end: true })),
    client: "cut",
    log: /less DATA than content-length/,
    told: CODE.PROTOCOL_ERROR,
  },
  {
    name: "a second final head",
    says: join(headers(1, OK), headers(1, OK)),
    client: "cut",
    log: /trailers with :status in trailers|a second final head/,
    told: CODE.PROTOCOL_ERROR,
  },
  {
    name: "trailers that end nothing",
    says: join(headers(1, OK), headers(1, [["a", "b"]])),
    client: "cut",
    log: /a second final head/,
    told: CODE.PROTOCOL_ERROR,
  },
  {
    name: "malformed trailers",
    says: join(headers(1, OK), headers(1, [["A", "b"]], { end: true })),
    client: "cut",
    log: /trailers with upper case/,
    told: CODE.PROTOCOL_ERROR,
  },
  {
    name: "a body to HEAD",
    request: "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n",
    says: join(headers(1, [...OK, ["content-length", "3"]]), data(1, "xyz", { end: true })),
    client: { whole: "" },
    told: CODE.PROTOCOL_ERROR,
  },
  {
    name: "closes in the middle of a body",
    says: join(headers(1, OK), data(1, "xyz")),
    closes: true,
    client: "cut",
    log: /^upstream_closed: closed the connection/,
  },
  {
    name: "closes in the middle of a frame",
    says: join(headers(1, OK), frame(FRAME.DATA, 0, 1, bytesOf("xyz"), 1_000)),
    closes: true,
    client: "cut",
    log: /^upstream_closed: closed the connection in the middle of a frame/,
  },
  {
    name: "closes in the middle of a head",
    says: headers(1, literals(OK), { endHeaders: false }),
    closes: true,
    client: 502,
    log: /^upstream_closed: /,
  },
  {
    name: "resets the stream in the middle of a body",
    says: join(headers(1, OK), data(1, "xyz"), rstStream(1, CODE.INTERNAL_ERROR)),
    client: "cut",
    log: /^upstream_closed: reset the stream with INTERNAL_ERROR/,
  },
  {
    name: "resets the stream after a complete response",
    says: join(headers(1, OK), data(1, "xyz", { end: true }), rstStream(1, CODE.NO_ERROR)),
    client: { whole: "xyz" },
  },
  ...[
    CODE.NO_ERROR,
    CODE.PROTOCOL_ERROR,
    CODE.INTERNAL_ERROR,
    CODE.CANCEL,
    CODE.ENHANCE_YOUR_CALM,
    CODE.INADEQUATE_SECURITY,
  ].map((code): HostileCase => ({
    name: `resets the stream with ${code}`,
    says: rstStream(1, code),
    client: 502,
    log: new RegExp(
      "^upstream_closed: reset the stream with " +
        Object.entries(CODE).find(([, value]) => value === code)![0],
    ),
  })),
  refused(
    "asks for HTTP/1.1",
    rstStream(1, CODE.HTTP_1_1_REQUIRED),
    /^upstream_closed: asked for HTTP\/1\.1 \(HTTP_1_1_REQUIRED\)/,
  ),
  {
    name: "sends nothing",
    says: [],
    client: 504,
    log: /^upstream_timeout: /,
    told: CODE.CANCEL,
    limits: { responseHeadTimeout: 300 },
  },
  {
    name: "never opens its window",
    greets: settings([[SETTING.INITIAL_WINDOW_SIZE, 0]]),
    says: [],
    request: "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello",
    client: 504,
    log: /^upstream_timeout: /,
    told: CODE.CANCEL,
    limits: { writeTimeout: 300 },
  },
  {
    name: "ends each connection as soon as it is open",
    greets: join(settings(), goAway(0)),
    says: [],
    client: 502,
    log: /^(connect_failed: .*its connections end as soon as they are open|upstream_closed: )/,
  },
  // Frames that end the connection.
  fatal("DATA on stream 0", data(0, "x"), CODE.PROTOCOL_ERROR, malformed),
  fatal("HEADERS on stream 0", headers(0, OK), CODE.PROTOCOL_ERROR, malformed),
  fatal("HEADERS on an idle stream", headers(3, OK), CODE.PROTOCOL_ERROR, malformed),
  fatal("HEADERS on a stream of its own", headers(2, OK), CODE.PROTOCOL_ERROR, malformed),
  fatal(
    "PUSH_PROMISE",
    frame(FRAME.PUSH_PROMISE, 4, 1, join(Uint8Array.of(0, 0, 0, 2), literals(OK))),
    CODE.PROTOCOL_ERROR,
    /PUSH_PROMISE/,
  ),
  fatal(
    "a frame that is too large",
    frame(FRAME.DATA, 0, 1, new Uint8Array(16_385)),
    CODE.FRAME_SIZE_ERROR,
    /FRAME_SIZE_ERROR/,
  ),
  fatal(
    "a bad index of HPACK",
    headers(1, Uint8Array.of(0xff, 0x7f)),
    CODE.COMPRESSION_ERROR,
    /COMPRESSION_ERROR/,
  ),
  fatal(
    "CONTINUATION out of nowhere",
    continuation(1, literals(OK)),
    CODE.PROTOCOL_ERROR,
    malformed,
  ),
  fatal(
    "PING between HEADERS and CONTINUATION",
    join(headers(1, literals(OK), { endHeaders: false }), ping()),
    CODE.PROTOCOL_ERROR,
    malformed,
  ),
  {
    name: "more DATA than the window",
    says: [headers(1, OK), ...Array.from({ length: 600 }, () => data(1, new Uint8Array(16_384)))],
    client: "cut",
    log: /^upstream_malformed: .*window/,
    told: CODE.FLOW_CONTROL_ERROR,
  },
  fatal(
    "a window past 2^31-1",
    windowUpdate(0, 0x7fffffff),
    CODE.FLOW_CONTROL_ERROR,
    /window past 2\^31-1/,
  ),
  fatal("SETTINGS with a bad value", settings([[5, 1]]), CODE.PROTOCOL_ERROR, /MAX_FRAME_SIZE/),
  {
    name: "ends the connection with an error",
    says: goAway(1, CODE.INTERNAL_ERROR, "x"),
    closes: true,
    client: 502,
    log: /^upstream_closed: ended the connection with INTERNAL_ERROR/,
  },
  // Floods.
  ...([
    ["PINGs", repeat(20_000, (i) => ping(i))],
    ["SETTINGS", repeat(20_000, () => settings())],
    ["SETTINGS ACKs", repeat(20_000, () => SETTINGS_ACK)],
    ["PRIORITY", repeat(20_000, () => priority(1))],
    ["empty DATA", join(headers(1, OK), repeat(20_000, () => data(1, "")))],
    ["unknown frames", repeat(20_000, () => frame(0x77, 0, 0))],
    [
      "CONTINUATION",
      join(
        headers(1, literals(OK), { endHeaders: false }),
        repeat(20_000, () => continuation(1, new Uint8Array(0), false)),
      ),
    ],
  ] as const).map(([name, says]): HostileCase => ({
    name: `a flood of ${name}`,
    says,
    client: name === "empty DATA" ? "cut" : 502,
    log: /^upstream_malformed: ENHANCE_YOUR_CALM/,
    told: CODE.ENHANCE_YOUR_CALM,
  })),
];

for (const one of CASES) {
  Deno.test(`an HTTP/2 backend misbehaves: ${one.name}`, async () => {
    const options: H2PeerOptions = one.greets === undefined ? {} : { rude: true };
    const parts = one.says instanceof Uint8Array ? [one.says] : one.says;
    let told: number | null = null;
    await using backend = new H2Backend(async (peer) => {
      if (one.greets !== undefined) await peer.send(one.greets);
      else await peer.until("the request", () => peer.stream(1).heads.length > 0);
      if (parts.length > 0) await peer.send(...parts);
      if (one.closes) await peer.finish();
      await peer.until("what the proxy says", () => codeTold(peer) !== null);
      told = codeTold(peer);
      await peer.ended();
    }, options);
    using proxy = new H2UpstreamProxy([backend.port], {
      limits: { tries: 1, ejectionFailures: 0, ...one.limits },
    });
    using client = await Peer.connect(proxy.port);
    await client.send(one.request ?? GET);
    const kind = one.request?.startsWith("HEAD") ? "response to HEAD" : "response";
    const answer = await client.answer(kind as "response");
    if (typeof one.client === "number") assert.equal(statusOf(answer), one.client);
    else {
      assert.equal(statusOf(answer), 200);
      if (one.client === "cut") assert.equal(answer.complete, false);
      else assert.deepEqual([answer.complete, answer.body], [true, one.client.whole]);
    }
    if (one.log === undefined) assert.deepEqual(proxy.failures, []);
    else {
      assert.equal(proxy.failures.length, 1);
      assert.match(proxy.failures[0], one.log);
      const { fields } = proxy.lines.find(({ message }) => message === "Request failed")!;
      assert.equal(fields.upstream, "test/web:80");
      assert.equal(fields.endpoint, `127.0.0.1:${backend.port}`);
    }
    if (one.told !== undefined) {
      await until("what the backend is told", () => told !== null);
      assert.equal(told, one.told);
    }
    await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
  });
}

/** The code of the first RST_STREAM or GOAWAY that has come. */
function codeTold(peer: H2Peer): number | null {
  for (const { type, payload } of peer.frames) {
    if (type === FRAME.RST_STREAM) return payload[3];
    if (type === FRAME.GOAWAY) return payload[7];
  }
  return null;
}
