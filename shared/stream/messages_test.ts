import assert from "node:assert/strict";
import { Redacted } from "../redacted.ts";
import { MAX_REPORT_BYTES } from "./protocol.ts";
import {
  type ByeMessage,
  type HelloUpdate,
  type PingMessage,
  readReport,
  readUpdate,
  type Report,
  reportLine,
  type UnknownMessage,
  UnreadContent,
  updateLine,
} from "./messages.ts";

const HASH = "ab".repeat(32);
const VERSION = { epoch: "e", seen: { Ingress: "12", Service: "7" } };
const VERSION_JSON = JSON.stringify(VERSION);

Deno.test("a controller reads a proxy's messages", () => {
  const reports: Exclude<Report, UnknownMessage>[] = [
    { kind: "hello", proxy: "0.1.0", formats: [1], version: VERSION, hash: HASH },
    { kind: "hello", proxy: "0.1.0", formats: [1, 2], version: null, hash: null },
    { kind: "applied", version: VERSION, hash: HASH },
    {
      kind: "applied",
      version: VERSION,
      hash: HASH,
      obstacles: [{ socket: "10000", reason: "another program has the port" }],
    },
    { kind: "refused", version: VERSION, hash: HASH, reason: "too old", code: "older" },
    { kind: "lost", reason: "the delta does not fit" },
    { kind: "alive", token: new Redacted("t.o.k"), version: VERSION, hash: HASH },
    { kind: "alive", token: new Redacted("t.o.k"), version: null, hash: null },
  ];
  for (const report of reports) {
    const line = reportLine(report);
    assert.ok(line.endsWith("\n") && line.indexOf("\n") === line.length - 1);
    const read = readReport(line.trimEnd());
    assert.ok(read.ok);
    assert.deepEqual(read.message, report);
    if (read.message.kind === "alive") assert.equal(read.message.token.reveal(), "t.o.k");
  }
});

Deno.test("a report of obstacles at all sockets fits a line, and one that is wrong is rejected", () => {
  const obstacles = Array.from({ length: 1_000 }, (_, i) => {
    return { socket: String(10_000 + i), reason: "long\n".repeat(1_000) };
  });
  const line = reportLine({ kind: "applied", version: VERSION, hash: HASH, obstacles });
  assert.ok(line.length < MAX_REPORT_BYTES, String(line.length));
  const read = readReport(line);
  assert.ok(read.ok && read.message.kind === "applied");
  assert.equal(read.message.obstacles?.length, 512);
  const applied = (obstacles: unknown) =>
    readReport(JSON.stringify({ kind: "applied", version: VERSION, hash: HASH, obstacles }));
  for (const wrong of ["none", {}, [1], [{}], [{ socket: "" }], [{ socket: 10_000 }]]) {
    assert.equal(applied(wrong).ok, false, JSON.stringify(wrong));
  }
  assert.ok(applied([]).ok);
});

Deno.test("a proxy reads a controller's messages", () => {
  const updates: (HelloUpdate | PingMessage | ByeMessage)[] = [
    { kind: "hello", controller: "c-1", build: "0.1.0", heartbeat: 1500, zone: "a" },
    { kind: "hello", controller: "c-1", build: "0.1.0", heartbeat: 1500, zone: null },
    { kind: "ping" },
    { kind: "bye", reason: "it drains" },
  ];
  for (const update of updates) {
    assert.deepEqual(readUpdate(updateLine(update).trimEnd()), { ok: true, message: update });
  }
});

Deno.test("neither a token nor the keys of a configuration are printed", () => {
  const alive = readReport(`{"kind":"alive","token":"s3cret","version":null,"hash":null}`);
  const whole = readUpdate(
    `{"kind":"snapshot","version":${VERSION_JSON},"hash":"${HASH}","certificates":["s3cret"]}`,
  );
  assert.ok(alive.ok && whole.ok);
  for (const message of [alive.message, whole.message]) {
    assert.ok(!Deno.inspect(message, { depth: 9 }).includes("s3cret"));
    assert.ok(!JSON.stringify(message).includes("s3cret"));
    assert.ok(!`${JSON.stringify(Object.entries(message))}`.includes("s3cret"));
  }
  assert.ok(whole.message.kind === "snapshot");
  assert.deepEqual(whole.message.content.reveal().certificates, ["s3cret"]);
});

Deno.test("unknown fields and kinds of a newer peer are not errors", () => {
  const ping = readUpdate('{"kind":"ping","sent":12,"more":{"a":[]}}');
  assert.deepEqual(ping, { ok: true, message: { kind: "ping" } });
  for (const read of [readUpdate, readReport]) {
    const later = read('{"kind":"later","version":7}');
    assert.deepEqual(later, { ok: true, message: { kind: "unknown", name: "later" } });
    const long = read(JSON.stringify({ kind: `a\nb${"x".repeat(1000)}` }));
    assert.ok(long.ok && long.message.kind === "unknown");
    assert.equal(long.message.name.length, 253);
    assert.ok(long.message.name.startsWith("a bx"));
  }
  const bye = readUpdate('{"kind":"bye","reason":{"code":7}}');
  assert.deepEqual(bye, { ok: true, message: { kind: "bye", reason: "" } });
  const refused = `{"kind":"refused","version":${VERSION_JSON},"hash":"${HASH}","code":"tired"}`;
  const read = readReport(refused);
  assert.ok(read.ok && read.message.kind === "refused");
  assert.equal(read.message.code, "failed");
  assert.equal(read.message.reason, "");
});

Deno.test("a reason is one line, however it was written", () => {
  const reason = `a\nb\u0000\u001b[31mc\u0085${"x".repeat(5000)}`;
  const line = reportLine({ kind: "lost", reason });
  const written = JSON.parse(line).reason;
  const read = readReport(JSON.stringify({ kind: "lost", reason }));
  assert.ok(read.ok && read.message.kind === "lost");
  for (const cleaned of [written, read.message.reason]) {
    assert.match(cleaned, /^a b \[31mc x+$/);
    assert.ok(cleaned.length <= 1000);
  }
});

Deno.test("an invalid message is rejected with its place, and never throws", () => {
  const digits = "9".repeat(65);
  const same = (more: string) => `{"kind":"same",${more}}`;
  const table: [line: string, reason: string][] = [
    ["", "the line is not JSON"],
    ['{"kind":"pi', "the line is not JSON"],
    ["\0", "the line is not JSON"],
    ['{"kind":"ping"}{"kind":"ping"}', "the line is not JSON"],
    ['{"kind":"same","key":"s3cret', "the line is not JSON"],
    ["[]", "an object is needed, not an array"],
    ["null", "an object is needed, not null"],
    ["12", "an object is needed, not a number"],
    ["{}", "$.kind: a text is needed, not nothing"],
    ['{"kind":7}', "$.kind: a text is needed, not a number"],
    ['{"kind":""}', "$.kind: it is empty"],
    ['{"__proto__":{"kind":"ping"}}', "$.kind: a text is needed, not nothing"],
    [same(`"hash":"${HASH}"`), "$.version: it is missing"],
    [same(`"version":null,"hash":"${HASH}"`), "$.version: an object is needed, not null"],
    [
      same(`"version":{"epoch":1,"seen":{}},"hash":"${HASH}"`),
      "$.version.epoch: a text is needed, not a number",
    ],
    [
      same(`"version":{"epoch":"e","seen":[]},"hash":"${HASH}"`),
      "$.version.seen: an object is needed, not an array",
    ],
    [
      same(`"version":{"epoch":"e","seen":{"A":1}},"hash":"${HASH}"`),
      '$.version.seen["A"]: a text is needed, not a number',
    ],
    [
      same(`"version":{"epoch":"e","seen":{"__proto__":{}}},"hash":"${HASH}"`),
      '$.version.seen["__proto__"]: a text is needed, not an object',
    ],
    [
      same(`"version":{"epoch":"e","seen":{"A":"${digits}"}},"hash":"${HASH}"`),
      "$.version.seen: a resource version is too long",
    ],
    [same(`"version":${VERSION_JSON}`), "$.hash: it is no content hash"],
    [same(`"version":${VERSION_JSON},"hash":"AB"`), "$.hash: it is no content hash"],
    [
      `{"kind":"delta","version":${VERSION_JSON},"hash":"${HASH}"}`,
      "$.base: it is no content hash",
    ],
    [
      '{"kind":"hello","controller":"c","build":"b","heartbeat":0}',
      "$.heartbeat: a number of ms is needed",
    ],
    [
      '{"kind":"hello","controller":"c","build":"b","heartbeat":"1500"}',
      "$.heartbeat: a number of ms is needed",
    ],
    [
      '{"kind":"hello","controller":"c","build":"b","heartbeat":9,"zone":5}',
      "$.zone: a text is needed, not a number",
    ],
    ['{"kind":"hello","heartbeat":9}', "$.controller: a text is needed, not nothing"],
  ];
  for (const [line, reason] of table) {
    assert.deepEqual(readUpdate(line), { ok: false, reason }, line.slice(0, 200));
  }
});

Deno.test("an invalid report is rejected with its place, and never throws", () => {
  const table: [line: string, reason: string][] = [
    ['{"kind":"hello","formats":[1]}', "$.proxy: a text is needed, not nothing"],
    ['{"kind":"hello","proxy":"1"}', "$.formats: an array is needed, not nothing"],
    [
      '{"kind":"hello","proxy":"1","formats":["1"]}',
      "$.formats[0]: a number is needed, not a text",
    ],
    ['{"kind":"hello","proxy":"1","formats":[],"hash":7}', "$.hash: it is no content hash"],
    [
      '{"kind":"hello","proxy":"1","formats":[],"version":"7"}',
      "$.version: an object is needed, not a text",
    ],
    ['{"kind":"alive"}', "$.token: a text is needed, not nothing"],
    ['{"kind":"alive","token":""}', "$.token: it is empty"],
    ['{"kind":"alive","token":["s3cret"]}', "$.token: a text is needed, not an array"],
    [`{"kind":"applied","hash":"${HASH}"}`, "$.version: it is missing"],
    [`{"kind":"applied","version":${VERSION_JSON},"hash":null}`, "$.hash: it is no content hash"],
    ['{"kind":"refused"}', "$.version: it is missing"],
  ];
  for (const [line, reason] of table) {
    assert.deepEqual(readReport(line), { ok: false, reason }, line);
  }
});

Deno.test("endless nesting is one invalid line", () => {
  const depth = 200_000;
  const nested = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  for (const line of [nested, `{"kind":"ping","x":${nested}}`, `{"kind":${nested}}`]) {
    readUpdate(line);
    readReport(line);
  }
});

Deno.test("unread content is printed as such", () => {
  const content = new UnreadContent({ key: "s3cret" });
  assert.equal(JSON.stringify({ content }), '{"content":"[unread]"}');
  assert.ok(!Deno.inspect(content).includes("s3cret"));
});
