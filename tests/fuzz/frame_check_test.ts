import assert from "node:assert/strict";
import {
  continuation,
  data,
  type Field,
  FRAME,
  frame,
  get,
  goAway,
  headers,
  join,
  ping,
  PREFACE,
  rstStream,
  SETTING,
  settings,
  windowUpdate,
} from "../support/h2_frames.ts";
import { checkWritten } from "./frame_check.ts";

const CLIENT = join(
  PREFACE,
  settings([[SETTING.INITIAL_WINDOW_SIZE, 10]]),
  headers(1, get(), { end: true }),
  windowUpdate(1, 5),
);
const OK: readonly Field[] = [[":status", "200"]];
/** Of which bodies are made here. */
const CONTENT = 0x6f;
const BODY = new Uint8Array(1000).fill(CONTENT);

function check(...ours: Uint8Array[]) {
  return checkWritten("server", { written: join(...ours), isWhole: true }, CLIENT, CONTENT);
}

Deno.test("frames that RFC 9113 allows are accepted, and reported by stream", () => {
  const { streams, goaway } = check(
    settings(),
    headers(1, [[":status", "103"]]),
    headers(1, OK, { endHeaders: false }),
    continuation(1, new Uint8Array(0)),
    data(1, BODY.subarray(0, 9)),
    headers(1, [["grpc-status", "0"]], { end: true }),
    rstStream(1, 0),
    goAway(1, 0),
  );
  const { heads, bytes, ended, reset } = streams.get(1)!;
  assert.deepEqual([heads.length, bytes, ended, reset], [3, 9, true, 0]);
  assert.deepEqual([goaway?.code, goaway?.debug], [0, ""]);
});

const WRONG: readonly [string, RegExp, readonly Uint8Array[]][] = [
  ["no SETTINGS first", /no SETTINGS first/, [ping(1, true)]],
  ["a stream that was never opened", /nobody began/, [settings(), headers(3, OK)]],
  ["DATA before a head", /before a head/, [settings(), data(1, "")]],
  ["DATA behind an interim head", /before a head/, [
    settings(),
    headers(1, [[":status", "100"]]),
    data(1, ""),
  ]],
  ["DATA behind END_STREAM", /behind END_STREAM/, [
    settings(),
    headers(1, OK, { end: true }),
    data(1, ""),
  ]],
  ["a head behind RST_STREAM", /behind RST_STREAM/, [settings(), rstStream(1), headers(1, OK)]],
  ["DATA past a window that only seems smaller", /past the stream's window/, [
    settings(),
    headers(1, OK),
    ...new Array(67).fill(data(1, BODY)),
  ]],
  ["a body that is not ours", /rubbish/, [settings(), headers(1, OK), data(1, "x")]],
  ["trailers without END_STREAM", /without END_STREAM/, [
    settings(),
    headers(1, OK),
    headers(1, [["a", "b"]]),
  ]],
  ["a frame within a head", /within a head/, [
    settings(),
    headers(1, OK, { endHeaders: false }),
    ping(1, true),
  ]],
  ["a head without its end", /without its end/, [
    settings(),
    headers(1, OK, { endHeaders: false }),
  ]],
  ["upper case in a name", /the name/, [settings(), headers(1, [...OK, ["A", "b"]])]],
  ["a field of a connection", /crosses/, [settings(), headers(1, [...OK, ["connection", "x"]])]],
  ["a line end in a value", /a: /, [settings(), headers(1, [...OK, ["a", "b\r\nc"]])]],
  ["a pseudo-field of a request", /does not belong/, [settings(), headers(1, [[":path", "/"]])]],
  ["less than content-length says", /1 bytes of 2/, [
    settings(),
    headers(1, [...OK, ["content-length", "2"]]),
    data(1, BODY.subarray(0, 1), { end: true }),
  ]],
  ["an increment of zero", /increment/, [settings(), windowUpdate(0, 0)]],
  ["a frame that is too large", /larger/, [
    settings(),
    headers(1, OK),
    data(1, new Uint8Array(16_385).fill(CONTENT)),
  ]],
  ["PRIORITY", /never send/, [settings(), frame(FRAME.PRIORITY, 0, 1, new Uint8Array(5))]],
  ["a last stream that grows", /grows/, [settings(), goAway(1, 0), goAway(3, 0)]],
  ["a frame behind the last GOAWAY", /behind the last GOAWAY/, [
    settings(),
    goAway(1, 1),
    ping(1, true),
  ]],
  ["half a frame", /within a frame/, [settings(), ping(1, true).subarray(0, 12)]],
];

for (const [what, error, ours] of WRONG) {
  Deno.test(`${what} is detected`, () => {
    assert.throws(() => check(...ours), error);
  });
}
