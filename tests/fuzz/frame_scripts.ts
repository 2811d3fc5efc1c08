/**
 * Streams of HTTP/2 without a mistake, for mutation. In: random choices. Out: what a client sends,
 * from its preface on, or what a backend does that is asked `ASKED`.
 */
import { HpackEncoder } from "../../proxy/http2/hpack/encoder.ts";
import {
  CODE,
  continuation,
  data,
  type Field,
  FRAME,
  frame,
  goAway,
  headers,
  join,
  ping,
  PREFACE,
  priority,
  priorityOn,
  rstStream,
  SETTING,
  settings,
  SETTINGS_ACK,
  windowUpdate,
} from "../support/h2_frames.ts";
import { writeHead } from "../support/hpack_heads.ts";
import type { Random } from "./random.ts";

/** How many requests a backend is asked, on streams 1, 3, 5 …. */
export const ASKED = 4;

const out = new Uint8Array(65_536);

/** One message: each step makes the next frames of its stream, when their turn comes. */
type Steps = ((id: number) => Uint8Array)[];

export function clientScript(random: Random): Uint8Array {
  const encoder = new HpackEncoder();
  const messages = Array.from({ length: random.between(1, 6) }, () => request(random, encoder));
  const begins = [PREFACE, settings(someSettings(random, true))];
  return join(...begins, ...interleaved(random, messages), ...ending(random));
}

export function backendScript(random: Random): Uint8Array {
  const encoder = new HpackEncoder();
  const messages = Array.from({ length: ASKED }, () => answer(random, encoder));
  return join(
    settings(someSettings(random, false)),
    ...interleaved(random, messages),
    ...ending(random),
  );
}

/** The frames of all messages, each in its order; ids in the order in which they begin. */
function interleaved(random: Random, messages: readonly Steps[]): Uint8Array[] {
  const frames: Uint8Array[] = [];
  const open = messages.map((steps) => ({ steps, id: 0 }));
  let nextId = 1;
  while (open.length > 0) {
    // Mostly one after the other, as ids must begin in order.
    const message = random.oneIn(2) ? open[0] : random.pick(open);
    if (message.id === 0) {
      message.id = nextId;
      nextId += 2;
    }
    frames.push(message.steps.shift()!(message.id));
    if (message.steps.length === 0) open.splice(open.indexOf(message), 1);
    if (random.oneIn(4)) frames.push(control(random, nextId - 2));
  }
  return frames;
}

function ending(random: Random): Uint8Array[] {
  return random.oneIn(4) ? [goAway(0)] : [];
}

function someSettings(random: Random, isClient: boolean): [number, number][] {
  const all: [number, number][] = [
    [SETTING.HEADER_TABLE_SIZE, random.pick([0, 64, 4096, 65_536])],
    [SETTING.MAX_CONCURRENT_STREAMS, random.pick([1, 3, 100])],
    [SETTING.INITIAL_WINDOW_SIZE, random.pick([0, 10, 65_535, 1 << 20, 0x7fffffff])],
    [SETTING.MAX_FRAME_SIZE, random.pick([16_384, 20_000, 16_777_215])],
    [SETTING.MAX_HEADER_LIST_SIZE, random.pick([100, 16_384])],
    isClient
      ? [SETTING.ENABLE_PUSH, random.below(2)]
      : [SETTING.ENABLE_CONNECT_PROTOCOL, random.below(2)],
    [0xabcd, 7],
  ];
  return all.filter(() => random.oneIn(3));
}

function control(random: Random, lastId: number): Uint8Array {
  const id = random.pick([0, lastId]);
  switch (random.below(9)) {
    case 0:
      return ping(random.below(100));
    case 1:
      return SETTINGS_ACK;
    case 2:
      return settings(someSettings(random, true).filter(([id]) => id !== SETTING.ENABLE_PUSH));
    case 3:
      return priority(lastId, lastId + 2);
    case 4:
      return rstStream(lastId, random.pick([CODE.CANCEL, CODE.NO_ERROR, CODE.REFUSED_STREAM]));
    case 5:
      return frame(FRAME.PRIORITY_UPDATE, 0, 0, Uint8Array.of(0, 0, 0, lastId, 0x75));
    case 6:
      return frame(0xfa, 0xff, id, new Uint8Array(random.below(20)));
    default:
      return windowUpdate(id, random.pick([1, 1000, 1 << 20]));
  }
}

/** A head in HEADERS, and CONTINUATION where it is cut. */
function head(
  random: Random,
  encoder: HpackEncoder,
  id: number,
  fields: readonly Field[],
  end: boolean,
): Uint8Array {
  const block = out.slice(0, writeHead(encoder, out, fields));
  const options = {
    end,
    padding: random.oneIn(8) ? random.below(20) : undefined,
    priority: random.oneIn(8) ? priorityOn(0) : undefined,
  };
  if (!random.oneIn(4)) return headers(id, block, options);
  const cut = random.below(block.length + 1);
  return join(
    headers(id, block.subarray(0, cut), { ...options, endHeaders: false }),
    continuation(id, block.subarray(cut)),
  );
}

function body(random: Random, length: number, ends: boolean): Steps {
  const steps: Steps = [];
  let rest = length;
  while (rest > 0) {
    const count = random.oneIn(2) ? rest : random.between(1, rest);
    rest -= Math.min(count, 16_000);
    const end = ends && rest === 0;
    const padding = random.oneIn(6) ? random.below(40) : undefined;
    const bytes = new Uint8Array(Math.min(count, 16_000)).fill(0x78);
    steps.push((id) => data(id, bytes, { end, padding }));
  }
  if (ends && length === 0) steps.push((id) => data(id, "", { end: true }));
  return steps;
}

function someLength(random: Random): number {
  // Large ones cost time; those past a window matter.
  if (!random.oneIn(8)) return random.pick([0, 1, 10, 1000]);
  return random.pick([20_000, 65_536, 100_000, random.below(200_000)]);
}

function request(random: Random, encoder: HpackEncoder): Steps {
  const more = someFields(random, REQUEST_FIELDS);
  const path = random.pick(PATHS);
  const method = random.pick(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]);
  if (random.oneIn(8)) {
    const fields: Field[] = [
      [":method", "CONNECT"],
      [":scheme", "https"],
      [":path", "/chat"],
      [":authority", "a.test"],
      [":protocol", "websocket"],
      ["sec-websocket-version", "13"],
      ...more,
    ];
    return [
      (id) => head(random, encoder, id, fields, false),
      ...body(random, someLength(random), random.oneIn(2)),
    ];
  }
  const fields: Field[] = [
    [":method", method],
    [":scheme", random.pick(["http", "https"])],
    [":path", path],
    [":authority", random.pick(["a.test", "A.Test:8080", "[::1]", "b.test"])],
    ...more,
  ];
  if (random.oneIn(2)) return [(id) => head(random, encoder, id, fields, true)];
  return message(random, encoder, fields);
}

function answer(random: Random, encoder: HpackEncoder): Steps {
  const interim: Steps = random.oneIn(4)
    ? [(id) => head(random, encoder, id, [[":status", "103"], ["link", "</a>"]], false)]
    : [];
  const fields: Field[] = [
    [":status", random.pick(["200", "204", "304", "404", "500"])],
    ...someFields(random, ANSWER_FIELDS),
  ];
  if (random.oneIn(3)) return [...interim, (id) => head(random, encoder, id, fields, true)];
  return [...interim, ...message(random, encoder, fields)];
}

/** A head, a body, and trailers perhaps. */
function message(random: Random, encoder: HpackEncoder, fields: readonly Field[]): Steps {
  const length = someLength(random);
  const hasTrailers = random.oneIn(4);
  const sized: readonly Field[] = random.oneIn(2)
    ? [...fields, ["content-length", String(length)]]
    : fields;
  const steps = [
    (id: number) => head(random, encoder, id, sized, false),
    ...body(random, length, !hasTrailers),
  ];
  if (hasTrailers) {
    const trailers: Field[] = [["grpc-status", "0"], ["x-trailer", "t"]];
    steps.push((id) => head(random, encoder, id, trailers, true));
  }
  return steps;
}

function someFields(random: Random, fields: readonly Field[]): Field[] {
  return fields.filter(() => random.oneIn(4));
}

/** By some of them the handler knows what to do: `frame_connections.ts`. */
const PATHS: readonly string[] = "/ /index.html /a/b?c=d /early /large /never /late /breaks /drain"
  .split(" ");

const REQUEST_FIELDS: readonly Field[] = [
  ["accept", "*/*"],
  ["accept-encoding", "gzip, deflate"],
  ["cookie", "a=b"],
  ["cookie", "c=d; e=f"],
  ["cookie", ""],
  ["te", "trailers"],
  ["expect", "100-continue"],
  ["content-type", "application/grpc"],
  ["user-agent", "fuzz/1.0 (of some length)"],
  ["x_underscore", "1"],
  ["x-empty", ""],
  ["x-bytes", "\x80\xff\t!"],
  ["x-large", "x".repeat(3000)],
  ["authorization", "Basic YTpi"],
];

const ANSWER_FIELDS: readonly Field[] = [
  ["server", "fuzz"],
  ["date", "Sun, 22 Nov 2026 00:26:22 GMT"],
  ["content-type", "text/plain"],
  ["set-cookie", "a=b"],
  ["set-cookie", "c=d"],
  ["x-large", "x".repeat(3000)],
  ["trailer", "x-trailer"],
];
