import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { TrustedProxies } from "./trusted_proxies.ts";
import { ERROR_KINDS, type ErrorCode } from "../../shared/error_kinds.ts";
import { type Fields, fieldsOf, latin1 as textOf, X_REAL_IP } from "./fields.ts";
import { redirectTo } from "../filters/https_redirect.ts";
import { httpsLocation } from "./https_location.ts";
import { ForwardedFields } from "./forwarded_fields.ts";
import { prepareRequest } from "./forwarded_headers.ts";
import { fieldsSize, writeFields } from "../http1/head_writer.ts";
import { responseHeadSize, writeResponseHead } from "../http1/response_writer.ts";
import { type Exchange, ExchangeRecord, RequestHead, ResponseHead } from "./message.ts";
import { localReply } from "../forward/local_reply.ts";

/** What breaks out of a line, among it letters whose low byte is CR, LF or NUL, and what does not. */
const BREAKING = ["\r", "\n", "\0", "\r\n", "\u010d", "\u010a", "\u0100", "\u560d\u560a"];
const PLAIN = [
  "a",
  "Z",
  "0",
  "-",
  "_",
  " ",
  "\t",
  ":",
  "/",
  "%0d%0a",
  "%00",
  "\xff",
  "\x80",
  "\x7f",
];
const INJECTED = "\r\nX-Injected: 1\r\n\r\n<p>";

function randomText(random: Random, breaking: number): string {
  let text = "";
  for (let i = random.below(8); i > 0; i--) {
    text += random.pick(random.oneIn(breaking) ? [...BREAKING, INJECTED] : PLAIN);
  }
  return text;
}

/** The lines that a peer reads, each without its CRLF. Bare CRs and LFs are left in them. */
function written(fields: Fields): string[] {
  const out = new Uint8Array(fieldsSize(fields));
  const text = latin1(out.subarray(0, writeFields(out, 0, fields)));
  assert.ok(text === "" || text.endsWith("\r\n"));
  return text.split("\r\n").slice(0, -1);
}

function latin1(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** A whole head of an answer. */
function headText(request: RequestHead, head: ResponseHead): string {
  const out = new Uint8Array(responseHeadSize(head));
  return latin1(out.subarray(0, writeResponseHead(out, request, head, "length", true)));
}

/** Fails unless `text` is a head of status line and lines of these names, and nothing behind it. */
function assertWhole(text: string, names: readonly string[]): void {
  assert.ok(text.endsWith("\r\n\r\n"), text);
  const [status, ...lines] = text.slice(0, -4).split("\r\n");
  assert.match(status, /^HTTP\/1\.1 \d{3} [A-Za-z -]*$/);
  for (const line of lines) assert.match(line, /^[A-Za-z-]+: [\t\x20-\x7e\x80-\xff]*$/);
  const own = ["Server", "Date", "Content-Length"];
  const found = lines.map((line) => line.slice(0, line.indexOf(":")));
  assert.deepEqual(found.filter((name) => !own.includes(name)).sort(), [...names].sort());
}

function exchangeOf(parts: Partial<RequestHead>, fields: [string, string][] = []): Exchange {
  const request = Object.assign(new RequestHead(), { host: "a.test", path: "/" }, parts);
  const given = fieldsOf(fields);
  Object.assign(request.fields, given);
  const client = {
    address: "10.0.0.1",
    port: 1,
    secure: false,
    certificate: null,
    localPort: 80,
    listener: "http",
    trusted: true,
    isExempt: true,
  };
  return {
    request,
    client,
    record: new ExchangeRecord(),
    added: null,
    addedAuthority: "",
    addedMark: "",
  } as unknown as Exchange;
}

const FORWARDED = new ForwardedFields({ value: "pingress-test" });

Deno.test("no name or value of a field breaks out of its line: it is written unchanged or rejected", () => {
  const random = new Random(36);
  let refused = 0;
  for (let i = 0; i < 20_000; i++) {
    const pairs = Array.from({ length: random.between(1, 4) }, () => {
      const name = random.oneIn(10) ? randomText(random, 2) : random.pick(["A", "Location", "x-y"]);
      return [name, randomText(random, 12)] as [string, string];
    });
    let fields: Fields;
    try {
      fields = fieldsOf(pairs);
    } catch (error) {
      assert.ok(error instanceof TypeError);
      assert.doesNotMatch(error.message, /[\r\n\0]/);
      refused++;
      continue;
    }
    assert.deepEqual(written(fields), pairs.map(([name, value]) => `${name}: ${value}`));
    assert.doesNotMatch(written(fields).join(""), /[\r\n\0\x7f]/);
  }
  assert.ok(refused > 5_000 && refused < 18_000, `${refused} of 20,000 were refused`);
});

for (const breaking of [...BREAKING, INJECTED]) {
  Deno.test(`${JSON.stringify(breaking)} is rejected at any place of a name or a value`, () => {
    for (const text of [breaking, `a${breaking}`, `${breaking}a`, `a${breaking}b`]) {
      assert.throws(() => fieldsOf([["X-A", text]]), TypeError);
      assert.throws(() => fieldsOf([[text, "a"]]), TypeError);
      assert.throws(() => fieldsOf([["X-A", "a"], ["X-B", text], ["X-C", "c"]]), TypeError);
    }
  });
}

Deno.test("a redirect has one Location, with any host, path and query", () => {
  const random = new Random(308);
  let made = 0;
  for (let i = 0; i < 5_000; i++) {
    const text = () => random.oneIn(2) ? "" : randomText(random, 6);
    const exchange = exchangeOf({
      host: `a${text()}.test`,
      path: `/${text()}`,
      query: `?${text()}`,
    });
    let head: ResponseHead;
    try {
      head = redirectTo(httpsLocation(exchange.request, 8443));
    } catch (error) {
      assert.ok(error instanceof TypeError);
      continue;
    }
    made++;
    assertWhole(headText(exchange.request, head), ["Cache-Control", "Location"]);
  }
  assert.ok(made > 500, `${made} redirects were made`);
});

Deno.test("an error page has only its own fields, whatever id and Accept the request has", () => {
  const random = new Random(500);
  const codes = Object.keys(ERROR_KINDS) as ErrorCode[];
  for (let i = 0; i < 5_000; i++) {
    // As the parser lets through: anything but CR, LF and NUL, without blanks at the ends.
    const value = () =>
      randomText(random, Infinity).replaceAll("\x7f", "").replace(/^[ \t]+|[ \t]+$/g, "");
    const exchange = exchangeOf({}, [["X-Request-Id", value()], ["Accept", value()]]);
    prepareRequest(exchange, NOBODY, FORWARDED);
    const code = random.pick(codes);
    const { head, body } = localReply(code, exchange);
    const names = ["Content-Type", "Cache-Control", "X-Request-Id"];
    if (head.status === 503 && code !== "route_closed") names.push("Retry-After");
    if (head.status === 405) names.push("Allow");
    if (head.status !== 0) assertWhole(headText(exchange.request, head), names);
    const page = latin1(body.read() as Uint8Array);
    assert.doesNotMatch(page, /[\r\0]/);
    assert.ok(page.split("\n").length <= 3, page);
  }
});

const NOBODY = new TrustedProxies(CidrList.empty);

const CLIENTS: readonly [trusted: boolean, fields: [string, string][], client: string][] = [
  [false, [["X-Forwarded-For", "192.0.2.1"], ["X-Real-IP", "192.0.2.2"]], "10.0.0.1"],
  [true, [["X-Forwarded-For", "192.0.2.1, 192.0.2.2"]], "192.0.2.2"],
  [true, [["X-Forwarded-For", "192.0.2.1"], ["X-Forwarded-For", "10.0.0.9"]], "192.0.2.1"],
  [true, [["X-Real-IP", "192.0.2.3"]], "192.0.2.3"],
  [true, [["X-Real-IP", "nobody"]], "10.0.0.1"],
  [true, [], "10.0.0.1"],
];

for (const [trusted, fields, client] of CLIENTS) {
  Deno.test(`the client is ${client}: ${trusted ? "trusted" : "untrusted"} ${JSON.stringify(fields)}`, () => {
    const made = exchangeOf({}, fields);
    const exchange = Object.assign(made, { client: { ...made.client, trusted } });
    prepareRequest(
      exchange,
      new TrustedProxies(CidrList.parse("10.0.0.0/8") as CidrList),
      FORWARDED,
    );
    assert.equal(exchange.record.clientAddress, client);
    const { added } = exchange;
    assert.equal(added!.value(added!.find(X_REAL_IP)), client);
  });
}

Deno.test("X-Real-IP of a peer that only the snapshot trusts does not name the client", () => {
  const trusted = new TrustedProxies(CidrList.empty);
  trusted.replace(["10.0.0.0/8"], []);
  for (const [name, client] of [["X-Real-IP", "10.0.0.1"], ["X-Forwarded-For", "192.0.2.3"]]) {
    const made = exchangeOf({}, [[name, "192.0.2.3"]]);
    const exchange = Object.assign(made, { client: { ...made.client, trusted: true } });
    prepareRequest(exchange, trusted, FORWARDED);
    assert.equal(exchange.record.clientAddress, client, name);
  }
});

Deno.test("the last value can be replaced if there is room, but not by one that breaks its line", () => {
  const fields = fieldsOf([["X-A", "1"], ["X-Host", "a.test"]], 4);
  for (const value of ["b.test", "a", "longer.tes", "a.test"]) {
    assert.equal(fields.replaceLast(value), true, value);
    assert.deepEqual(written(fields), ["X-A: 1", `X-Host: ${value}`]);
    assert.equal(fields.value(1), value);
  }
  for (const value of ["longer.test", "a\r\nb", "a b", "\u010a", "a\x7f"]) {
    assert.equal(fields.replaceLast(value), false, JSON.stringify(value));
    assert.deepEqual(written(fields), ["X-A: 1", "X-Host: a.test"]);
  }
});

Deno.test("on one connection, each request sends the backend its own host and its own id", () => {
  const hosts = [
    "a.test",
    "b.test",
    "a.test",
    "longer.example.test:8080",
    `${"c".repeat(99)}.test`,
  ];
  const made = exchangeOf({ host: hosts[0], authority: hosts[0] });
  const connection = Object.assign(made, { client: { ...made.client, trusted: false } });
  const ids = new Set<string>();
  for (const authority of [...hosts, "", "a.test", "a.test"]) {
    connection.request.authority = authority;
    prepareRequest(connection, NOBODY, FORWARDED);
    const lines = written(connection.added!);
    const expected = authority === "" ? [] : [`X-Forwarded-Host: ${authority}`];
    assert.deepEqual(lines.filter((line) => line.startsWith("X-Forwarded-Host")), expected);
    ids.add(lines[0]);
  }
  assert.equal(ids.size, hosts.length + 3);
});

Deno.test("headers of a trusted proxy go with no request once it is trusted no more", () => {
  for (const authority of ["a.test", ""]) {
    let before: Partial<Exchange> = {};
    for (const trusted of [false, true, false, false, true, false]) {
      // A connection's exchanges share what was added to the last one.
      const made = exchangeOf({ host: authority, authority }, [["X-Forwarded-For", "192.0.2.1"]]);
      const exchange = Object.assign(made, { client: { ...made.client, trusted } }, before);
      prepareRequest(exchange, NOBODY, FORWARDED);
      const { added, addedAuthority, addedMark, client, record } = exchange;
      const expected = trusted ? "192.0.2.1" : client.address;
      assert.equal(record.clientAddress, expected);
      assert.equal(added!.value(added!.find(X_REAL_IP)), expected);
      before = { added, addedAuthority, addedMark };
    }
  }
});

Deno.test("any bytes become a string with the same number of characters", () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, index) => index);
  for (const length of [0, 1, 12, 63, 64, 65, 128, 129, 290]) {
    const expected = String.fromCharCode(...bytes.subarray(7, 7 + length));
    assert.equal(textOf(bytes, 7, 7 + length), expected, `${length}`);
  }
});
