/** What a head takes, and which rule of RFC 9113 §8.2 and §8.3 it says is broken. */
import assert from "node:assert/strict";
import { COOKIE, DROPPED, HOST, latin1, UNDERSCORE } from "../../http/fields.ts";
import { TOKEN, VALUE } from "../../http/grammar.ts";
import {
  type Field,
  fieldsOfHead,
  newHead,
  rawLiteral,
} from "../../../tests/support/hpack_heads.ts";
import { HpackDecoder } from "./decoder.ts";
import { HeadBlock } from "./head_block.ts";

const GET: readonly Field[] = [[":method", "GET"], [":scheme", "https"], [":path", "/"]];

const MALFORMED: readonly [string, readonly Field[], string][] = [
  ["upper case in a name", [["Accept", "*/*"]], "upper case in a field name"],
  ["an empty name", [["", "x"]], "empty field name"],
  ["a colon in a name", [["a:b", "x"]], "bad byte in a field name"],
  ["a blank in a name", [["a b", "x"]], "bad byte in a field name"],
  ["an unknown pseudo-field", [[":version", "2"]], "unknown pseudo-field"],
  ["a pseudo-field in upper case", [[":Path", "/"]], "unknown pseudo-field"],
  ["a lone colon", [[":", "/"]], "unknown pseudo-field"],
  ["a pseudo-field twice", [...GET, [":path", "/"]], ":path twice"],
  ["a pseudo-field behind a field", [["a", "b"], [":method", "GET"]], ":method behind a field"],
  ["a line feed in a value", [["a", "b\nc"]], "bad byte in a field value"],
  ["a carriage return in a pseudo-field", [[":path", "/\r"]], "bad byte in a field value"],
  ["a zero byte in a value", [["a", "\0"]], "bad byte in a field value"],
  ["a blank before a value", [["a", " b"]], "white space around a field value"],
  ["a tab behind a value", [["a", "b\t"]], "white space around a field value"],
  ["a blank around a pseudo-field", [[":path", "/ "]], "white space around a field value"],
  ["a status of two digits", [[":status", "99"]], ":status is no status"],
  ["a status with a sign", [[":status", "+20"]], ":status is no status"],
  ["a status of four digits", [[":status", "2000"]], ":status is no status"],
  ["a status below 100", [[":status", "099"]], ":status is no status"],
];

for (const [what, fields, problem] of MALFORMED) {
  Deno.test(`${what} makes a head malformed, as a literal and from the table`, () => {
    const decoder = new HpackDecoder(4096);
    const block = fields.flatMap(([name, value]) => rawLiteral(0x40, name, value));
    const references = fields.map((_, i) => 0x80 | 61 + fields.length - i);
    for (const bytes of [block, references]) {
      const head = newHead();
      assert.equal(decoder.decode(Uint8Array.from(bytes), 0, bytes.length, head), null);
      assert.equal(head.malformed, problem);
    }
  });
}

Deno.test("errors of an indexed name and of its new value are found", () => {
  const decoder = new HpackDecoder(4096);
  const bytes = [...rawLiteral(0x40, "Bad", "x"), ...rawLiteral(0x40, "good", "x\n")];
  decoder.decode(Uint8Array.from(bytes), 0, bytes.length, newHead());
  for (const [name, problem] of [[48, "upper case in a field name"], [47, null]] as const) {
    const literal = [0x0f, name, ...rawLiteral(0, null, "y").slice(1)];
    const head = newHead();
    assert.equal(decoder.decode(Uint8Array.from(literal), 0, literal.length, head), null);
    assert.equal(head.malformed, problem);
  }
});

Deno.test("each byte of names and values is validated by the grammar", () => {
  for (let byte = 0; byte < 256; byte++) {
    const name = newHead();
    decodeBytes(name, [0x00, 3, 0x61, byte, 0x61, 1, 0x62]);
    assert.equal(
      name.malformed === null,
      TOKEN[byte] !== 0 && !(byte >= 0x41 && byte <= 0x5a),
      `name ${byte}`,
    );
    const value = newHead();
    decodeBytes(value, [0x00, 1, 0x61, 3, 0x61, byte, 0x61]);
    assert.equal(value.malformed === null, VALUE[byte] === 1, `value ${byte}`);
  }
});

Deno.test("any pseudo-header field makes trailers malformed", () => {
  const head = newHead(65_536, 100, true);
  decodeBytes(head, rawLiteral(0, ":status", "200"));
  assert.equal(head.malformed, ":status in trailers");
});

Deno.test("a head that is kept for long has a buffer of its size, and the next one has room again", () => {
  const head = newHead();
  const long = "v".repeat(600);
  for (const value of ["short", long, "short"]) {
    head.begin(65_536, 100, false);
    decodeBytes(head, rawLiteral(0, "name", value));
    head.shrink();
    const { fields } = head;
    assert.equal(fields.bytes.length, `name: ${value}\r\n`.length);
    assert.deepEqual([fields.count, fields.name(0), fields.value(0)], [1, "name", value]);
  }
});

Deno.test("fields are ranges in the head's own bytes, with the same ids as in http1", () => {
  const head = newHead();
  decodeBytes(head, [
    ...rawLiteral(0, ":authority", "a"),
    ...rawLiteral(0, "host", "b"),
    0x90, // accept-encoding: gzip, deflate
    0x91, // accept-language:
    ...rawLiteral(0, "x_real_ip", "1"),
  ]);
  const { fields } = head;
  assert.equal(head.authority, "a");
  assert.deepEqual([fields.ids[0], fields.ids[3]], [HOST, UNDERSCORE]);
  assert.equal(
    latin1(fields.bytes, fields.nameStart(0), fields.valueEnd(3) + 2),
    "host: b\r\naccept-encoding: gzip, deflate\r\naccept-language: \r\nx_real_ip: 1\r\n",
  );
  // 32 bytes a field besides names and values (RFC 9113 §10.5.1)
  assert.equal(head.size, 5 * 32 + 11 + 5 + 28 + 15 + 10);
});

Deno.test("a reused head has nothing of the previous one", () => {
  const head = newHead(40);
  decodeBytes(head, [...rawLiteral(0, ":method", "GET"), ...rawLiteral(0, "a", "b".repeat(50))]);
  assert(head.tooLarge);
  head.begin(65_536, 100, false);
  decodeBytes(head, [0x88, ...rawLiteral(0, "c", "d")]);
  assert.equal(head.tooLarge, false);
  assert.deepEqual(fieldsOfHead(head), [[":status", "200"], ["c", "d"]]);
});

Deno.test("a large head releases its memory", () => {
  const head = newHead();
  decodeBytes(head, rawLiteral(0, "a", "x".repeat(20_000)));
  assert.equal(head.fields.value(0).length, 20_000);
  head.begin(65_536, 100, false);
  assert.equal(head.fields.bytes.length, 0);
});

Deno.test("Cookie fields are joined at the place of the first", () => {
  const head = newHead();
  decodeBytes(head, [
    ...rawLiteral(0, "a", "1"),
    ...rawLiteral(0, "cookie", "b=c"),
    ...rawLiteral(0, "d", "2"),
    ...rawLiteral(0, "cookie", "e=" + "f".repeat(100)),
    ...rawLiteral(0, "cookie", ""),
  ]);
  head.joinCookies();
  const { fields } = head;
  assert.deepEqual([fields.ids[1], fields.ids[3], fields.ids[4]], [COOKIE, DROPPED, DROPPED]);
  assert.equal(fields.value(1), `b=c; e=${"f".repeat(100)}`);
  assert.equal(latin1(fields.bytes, fields.nameStart(1), fields.valueStart(1)), "cookie: ");
  assert.equal(latin1(fields.bytes, fields.valueEnd(1), fields.valueEnd(1) + 2), "\r\n");
});

Deno.test("empty Cookie fields leave no space at either end", () => {
  for (const [crumbs, joined] of [[["", "a=b"], "a=b"], [["", ""], ""], [["a=b", ""], "a=b"]]) {
    const head = newHead();
    decodeBytes(head, [...crumbs].flatMap((crumb) => rawLiteral(0, "cookie", crumb)));
    head.joinCookies();
    assert.equal(head.fields.value(0), joined);
  }
});

Deno.test("a head with no or one Cookie field is unchanged", () => {
  for (const pairs of [[["a", "b"]], [["a", "b"], ["cookie", "c=d"]]] as const) {
    const head = newHead();
    decodeBytes(head, pairs.flatMap(([name, value]) => rawLiteral(0, name, value)));
    head.joinCookies();
    assert.deepEqual(fieldsOfHead(head), pairs);
  }
});

function decodeBytes(head: HeadBlock, bytes: readonly number[]): void {
  const error = new HpackDecoder(4096).decode(Uint8Array.from(bytes), 0, bytes.length, head);
  assert.equal(error, null);
}
