/**
 * Parsers of heads and frames of HTTP/2, from clients and from backends. In: nothing. Out: rows of the
 * table.
 */
import { Buffer } from "node:buffer";
import { asciiBytes } from "../../proxy/http/fields.ts";
import { prepareResponse } from "../../proxy/http/forwarded_headers.ts";
import { HeadAssembly } from "../../proxy/http2/frame/head_assembly.ts";
import { HpackDecoder } from "../../proxy/http2/hpack/decoder.ts";
import { fieldsBound, HpackEncoder } from "../../proxy/http2/hpack/encoder.ts";
import { HeadBlock } from "../../proxy/http2/hpack/head_block.ts";
import { huffmanLength, writeHuffman } from "../../proxy/http2/hpack/huffman.ts";
import { MAX_INTEGER_BYTES, writeInteger } from "../../proxy/http2/hpack/integer.ts";
import { readRequestHead, trailersProblem } from "../../proxy/http2/request_head.ts";
import { requestHeadBound, writeRequestHead } from "../../proxy/http2/request_writer.ts";
import { readResponseHead, readTrailers } from "../../proxy/http2/response_head.ts";
import { responseHeadBound, writeResponseHead } from "../../proxy/http2/response_writer.ts";
import { PeerSettings } from "../../proxy/http2/frame/settings.ts";
import { keyOf, switchingFields } from "../../proxy/http2/websocket_accept.ts";
import {
  responseFraming,
  responseHeadSize,
  writeResponseHead as writeHttp1ResponseHead,
} from "../../proxy/http1/response_writer.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { RequestHead, ResponseHead } from "../../proxy/http/message.ts";
import { type Parser, textParser } from "./parser.ts";

const TABLE_SIZE = 4096;
/** A payload of one frame (RFC 9113 §4.2). */
const FRAME_BYTES = 16 * 1024;

type Pairs = readonly (readonly [name: string, value: string])[];

/** A header block of literals, raw or in Huffman's code, none of them for the table. */
function blockOf(pairs: Pairs, isCoded: boolean): Uint8Array {
  const parts = pairs.flatMap(([name, value]) => [
    Uint8Array.of(0),
    ...stringOf(asciiBytes(name), isCoded),
    ...stringOf(asciiBytes(value), isCoded),
  ]);
  return Buffer.concat(parts);
}

function stringOf(bytes: Uint8Array, isCoded: boolean): readonly Uint8Array[] {
  const size = isCoded ? huffmanLength(bytes, 0, bytes.length) : bytes.length;
  const length = new Uint8Array(MAX_INTEGER_BYTES);
  const end = writeInteger(length, 0, isCoded ? 0x80 : 0, 0x7f, size);
  if (!isCoded) return [length.subarray(0, end), bytes];
  const coded = new Uint8Array(size);
  writeHuffman(coded, 0, bytes, 0, bytes.length);
  return [length.subarray(0, end), coded];
}

/** A request with a text in one place. */
const REQUESTS: Readonly<Record<string, (text: string) => Pairs>> = {
  "path": (text) => request({ path: `/${text}` }),
  "query": (text) => request({ path: `/?${text}` }),
  "authority": (text) => request({ authority: text }),
  "method": (text) => request({ method: text }),
  "scheme": (text) => request({ scheme: `a${text}` }),
  "protocol": (text) => request({ method: "CONNECT", protocol: text }),
  "WebSocket key": (text) => [
    ...request({ method: "CONNECT", protocol: "websocket" }),
    ["sec-websocket-version", "13"],
    ["sec-websocket-key", text],
  ],
  "name": (text) => [...request({}), [`a${text}`, "x"]],
  "te": (text) => [...request({}), ["te", text]],
  "host": (text) => [...request({}), ["host", text]],
  "content-type": (text) => [...request({}), ["content-type", text]],
  "cookies": (text) => [...request({}), ...crumbs(text)],
};

function request(
  { method = "GET", scheme = "https", path = "/", authority = "a.test", protocol }: {
    readonly method?: string;
    readonly scheme?: string;
    readonly path?: string;
    readonly authority?: string;
    readonly protocol?: string;
  },
): Pairs {
  return [
    [":method", method],
    [":scheme", scheme],
    [":path", path],
    [":authority", authority],
    ...(protocol === undefined ? [] : [[":protocol", protocol] as const]),
  ];
}

/** As many fields as a request may have. */
function crumbs(text: string): Pairs {
  const count = DEFAULT_LIMITS.requestFields;
  const size = Math.ceil(text.length / count);
  return Array.from(
    { length: count },
    (_, i) => ["cookie", text.slice(i * size, (i + 1) * size)] as const,
  );
}

function requestParser(place: string, pairs: (text: string) => Pairs): Parser {
  const other = blockOf(request({}), false);
  return textParser({
    name: `the ${place} of a request of HTTP/2`,
    functions: [
      "proxy/http2/hpack/decoder.ts HpackDecoder.decode",
      "proxy/http2/hpack/field_lines.ts nameInfo",
      "proxy/http2/hpack/field_lines.ts valueInfo",
      "proxy/http2/hpack/head_block.ts HeadBlock.addLiteral",
      "proxy/http2/hpack/head_block.ts HeadBlock.add",
      "proxy/http2/request_head.ts readRequestHead",
      "proxy/http2/request_head.ts trailersProblem",
      "proxy/http2/request_writer.ts requestHeadBound",
      "proxy/http2/request_writer.ts writeRequestHead",
    ],
    bytes: DEFAULT_LIMITS.requestHeadBytes,
    frames: [["a", "a"]],
    read: (text) => {
      const block = blockOf(pairs(text), false);
      const head = new HeadBlock();
      return () => {
        const request = readRequest(block, head);
        // The last target is remembered, and would cost nothing.
        readRequest(other, new HeadBlock());
        const out = new Uint8Array(requestHeadBound(request, null, request.authority) + 64);
        const encoder = new HpackEncoder();
        const { authority } = request;
        writeRequestHead(encoder, out, encoder.begin(out, 0), request, null, authority, true);
      };
    },
  });
}

function readRequest(bytes: Uint8Array, block: HeadBlock): RequestHead {
  const { requestHeadBytes, requestFields } = DEFAULT_LIMITS;
  block.begin(requestHeadBytes, requestFields, false);
  new HpackDecoder(TABLE_SIZE).decode(bytes, 0, bytes.length, block);
  const head = new RequestHead(block.fields);
  block.joinCookies();
  readRequestHead(block, head, false, DEFAULT_LIMITS);
  trailersProblem(block);
  return head;
}

/** Pieces of blocks, each a whole field, an update or a part of them. */
const HPACK_PUMPS: readonly string[] = [
  "\x82",
  "\x90",
  "\xbe",
  "\xff\x00",
  "\x20",
  "\x3f\xe1\x1f",
  "\x40\x01a\x01b",
  "\x40\x00\x00",
  "\x00\x01a\x01b",
  "\x10\x06cookie\x01b",
  "\x44\x81\xff",
  "\x00\x01a\x84\xff\xff\xff\xff",
  "\x00\x01a\x81\x1f",
  "\xff\x80",
  "\x7f\x80",
  "\x0f\x80",
];

function hpackParser(): Parser {
  return textParser({
    name: "a header block",
    functions: [
      "proxy/http2/hpack/huffman.ts readHuffman",
      "proxy/http2/hpack/integer.ts readInteger",
      "proxy/http2/hpack/dynamic_table.ts DynamicTable.insert",
      "proxy/http2/hpack/dynamic_table.ts copy",
    ],
    // As `HeadReceiver` assembles at most.
    bytes: 2 * DEFAULT_LIMITS.requestHeadBytes + FRAME_BYTES,
    // A field that fills the table by a quarter, which the next ones put out.
    frames: [[`\x40\x01a\x7f\xc8\x06${"b".repeat(967)}`, ""]],
    only: HPACK_PUMPS,
    read: (text) => {
      const bytes = asciiBytes(text);
      const head = new HeadBlock();
      return () => {
        head.begin(DEFAULT_LIMITS.requestHeadBytes, DEFAULT_LIMITS.requestFields, false);
        new HpackDecoder(TABLE_SIZE).decode(bytes, 0, bytes.length, head);
      };
    },
  });
}

/** A response with a text in one place. */
const RESPONSES: Readonly<Record<string, (text: string) => Pairs>> = {
  "status": (text) => [[":status", text]],
  "content-type": (text) => [[":status", "200"], ["content-type", text]],
  "content-length": (text) => [[":status", "200"], ["content-length", text]],
  "set-cookies": (text) => [[":status", "200"], ...lines("set-cookie", text)],
  "upgrades": (text) => [[":status", "426"], ...lines("sec-websocket-protocol", text)],
};

function lines(name: string, text: string): Pairs {
  const count = DEFAULT_LIMITS.responseFields;
  const size = Math.ceil(text.length / count);
  return Array.from(
    { length: count },
    (_, i) => [name, text.slice(i * size, (i + 1) * size).trim()] as const,
  );
}

function responseParser(place: string, pairs: (text: string) => Pairs): Parser {
  const request = new RequestHead();
  return textParser({
    name: `the ${place} of a response of HTTP/2, for either version`,
    functions: [
      "proxy/http/forwarded_headers.ts prepareResponse",
      "proxy/http/trailers.ts dropForbiddenTrailers",
      "proxy/http2/response_head.ts readResponseHead",
      "proxy/http2/response_head.ts readTrailers",
      "proxy/http2/response_writer.ts responseHeadBound",
      "proxy/http2/response_writer.ts writeResponseHead",
      "proxy/http2/response_writer.ts writeInterimHead",
      "proxy/http2/hpack/encoder.ts fieldsBound",
      "proxy/http2/hpack/encoder.ts new HpackEncoder",
      "proxy/http2/hpack/encoder.ts HpackEncoder.begin",
      "proxy/http2/hpack/encoder.ts HpackEncoder.fields",
      "proxy/http2/hpack/encoder.ts HpackEncoder.pair",
      "proxy/http2/hpack/huffman.ts huffmanLength",
      "proxy/http2/hpack/huffman.ts writeHuffman",
      "proxy/http2/hpack/indexing.ts ruleOf",
      "proxy/http2/hpack/indexing.ts pairHash",
      "proxy/http2/hpack/indexing.ts nameHash",
      "proxy/http2/hpack/indexing.ts wholeHash",
      "proxy/http2/hpack/integer.ts writeInteger",
      "proxy/http2/hpack/static_table.ts staticName",
      "proxy/http1/response_writer.ts responseFraming",
      "proxy/http1/response_writer.ts responseHeadSize",
      "proxy/http1/response_writer.ts writeResponseHead",
    ],
    bytes: DEFAULT_LIMITS.responseHeadBytes,
    frames: [["a", "a"]],
    // A character is 5 to 30 bits of Huffman's code; else all are alike to the encoder.
    only: [" ", "a", "0", ",", ";", '"', "\\", "a,", "~", "\xe9", "\r\n", "\0"],
    read: (text) => {
      const bytes = blockOf(pairs(text), place === "content-type");
      const block = new HeadBlock();
      return () => {
        block.begin(DEFAULT_LIMITS.responseHeadBytes, DEFAULT_LIMITS.responseFields, false);
        new HpackDecoder(TABLE_SIZE).decode(bytes, 0, bytes.length, block);
        const head = new ResponseHead();
        if (readResponseHead(block, "GET", true, head) !== null) return void readTrailers(block);
        prepareResponse(head, request);
        const out = new Uint8Array(responseHeadBound(head) + fieldsBound(head.fields));
        const encoder = new HpackEncoder();
        writeResponseHead(encoder, out, encoder.begin(out, 0), head, 0);
        const plain = new Uint8Array(responseHeadSize(head));
        writeHttp1ResponseHead(plain, request, head, responseFraming(request, head), true);
        readTrailers(block);
      };
    },
  });
}

export const H2_PARSERS: readonly Parser[] = [
  ...Object.entries(REQUESTS).map(([place, pairs]) => requestParser(place, pairs)),
  ...Object.entries(RESPONSES).map(([place, pairs]) => responseParser(place, pairs)),
  hpackParser(),
  textParser({
    name: "a header block that comes in frames of one byte",
    functions: [
      "proxy/http2/frame/head_assembly.ts HeadAssembly.begin",
      "proxy/http2/frame/head_assembly.ts HeadAssembly.add",
    ],
    bytes: 2 * DEFAULT_LIMITS.requestHeadBytes + FRAME_BYTES,
    only: ["a"],
    read: (text) => {
      const bytes = asciiBytes(text);
      const assembly = new HeadAssembly(bytes.length);
      return () => {
        assembly.begin(1, true, false, bytes, 0, 1);
        for (let at = 1; at < bytes.length; at++) assembly.add(bytes, at, at + 1);
        assembly.close();
      };
    },
  }),
  textParser({
    name: "SETTINGS",
    functions: ["proxy/http2/frame/settings.ts PeerSettings.read"],
    bytes: FRAME_BYTES - FRAME_BYTES % 96,
    only: ["\0\x01\0\0\x10\0", "\0\x04\0\0\x10\0", "\0\x08\0\0\0\x01", "\x99\x01\0\0\x10\0"],
    read: (text) => {
      const bytes = asciiBytes(text);
      return () => new PeerSettings().read(bytes, 0, bytes.length, true);
    },
  }),
  textParser({
    name: "the fields of a WebSocket's handshake",
    functions: [
      "proxy/http2/websocket_accept.ts keyOf",
      "proxy/http2/websocket_accept.ts switchingFields",
    ],
    bytes: DEFAULT_LIMITS.responseHeadBytes,
    only: ["a", "\xe9", " ,"],
    read: (text) => {
      const block = new HeadBlock();
      block.begin(2 * DEFAULT_LIMITS.responseHeadBytes, DEFAULT_LIMITS.responseFields, false);
      const bytes = blockOf(lines("sec-websocket-extensions", text), false);
      new HpackDecoder(TABLE_SIZE).decode(bytes, 0, bytes.length, block);
      return () => switchingFields(block.fields, keyOf(block.fields));
    },
  }),
];
