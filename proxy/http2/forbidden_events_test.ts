/**
 * Events that RFC 9113 §5.1 forbids in the state of a stream: frames of a client by which they end a
 * stream or the connection, and with which code; and events of our own, which end the connection.
 */
import assert from "node:assert/strict";
import {
  CODE,
  continuation,
  data,
  FRAME,
  get,
  headers,
  literals,
  post,
  priority,
  rstStream,
  windowUpdate,
} from "../../tests/support/h2_frames.ts";
import { MemoryClient } from "../../tests/support/h2_memory_client.ts";
import { NO_BODY } from "../http/body.ts";
import { type Exchange, ResponseHead } from "../http/message.ts";
import { ServerStream } from "./server_stream.ts";

type Code = keyof typeof CODE;

/** How a stream gets into a state; the handler responds to `/now` at once, and to `/wait` never. */
const STATES = {
  "idle": () => [],
  "open": (id: number) => [headers(id, post("/wait"))],
  "half-closed (local)": (id: number) => [headers(id, post("/now"))],
  "half-closed (remote)": (id: number) => [headers(id, get("/wait"), { end: true })],
  "closed by END_STREAM": (id: number) => [headers(id, get("/now"), { end: true })],
  "closed by the client's RST_STREAM": (id: number) => [
    headers(id, post("/wait")),
    rstStream(id),
  ],
  // A window above 2^31-1 is an error of the stream.
  "closed by our RST_STREAM": (id: number) => [
    headers(id, post("/wait")),
    windowUpdate(id, 0x7fffffff),
  ],
} as const;

/** On stream 1. */
const FRAMES = {
  "DATA": data(1, "x"),
  "HEADERS": headers(1, literals([["x-sum", "1"]]), { end: true }),
  "RST_STREAM": rstStream(1),
  "WINDOW_UPDATE": windowUpdate(1, 1),
  "PRIORITY": priority(1),
  "CONTINUATION": continuation(1, literals([["x-sum", "1"]])),
} as const;

type State = keyof typeof STATES;
type Frame = keyof typeof FRAMES;
type Outcome = `${"stream" | "connection"} error ${Code}` | "accepted";

/** By state, then by frame. HEADERS on an idle stream are a request. */
const OUTCOMES: Readonly<Record<State, Readonly<Partial<Record<Frame, Outcome>>>>> = {
  // "Receiving any frame other than HEADERS or PRIORITY … connection error of type PROTOCOL_ERROR."
  "idle": {
    "DATA": "connection error PROTOCOL_ERROR",
    "RST_STREAM": "connection error PROTOCOL_ERROR",
    "WINDOW_UPDATE": "connection error PROTOCOL_ERROR",
    "PRIORITY": "accepted",
    "CONTINUATION": "connection error PROTOCOL_ERROR",
  },
  "open": {
    "DATA": "accepted",
    "HEADERS": "accepted",
    "RST_STREAM": "accepted",
    "WINDOW_UPDATE": "accepted",
    "PRIORITY": "accepted",
    "CONTINUATION": "connection error PROTOCOL_ERROR",
  },
  // "An endpoint can receive any type of frame in this state."
  "half-closed (local)": {
    "DATA": "accepted",
    "HEADERS": "accepted",
    "RST_STREAM": "accepted",
    "WINDOW_UPDATE": "accepted",
    "PRIORITY": "accepted",
    "CONTINUATION": "connection error PROTOCOL_ERROR",
  },
  // "… other than WINDOW_UPDATE, PRIORITY, or RST_STREAM … stream error of type STREAM_CLOSED."
  "half-closed (remote)": {
    "DATA": "stream error STREAM_CLOSED",
    "HEADERS": "stream error STREAM_CLOSED",
    "RST_STREAM": "accepted",
    "WINDOW_UPDATE": "accepted",
    "PRIORITY": "accepted",
    "CONTINUATION": "connection error PROTOCOL_ERROR",
  },
  // "… that arrive after both END_STREAM … connection error of type STREAM_CLOSED."
  "closed by END_STREAM": {
    "DATA": "connection error STREAM_CLOSED",
    "HEADERS": "connection error STREAM_CLOSED",
    "RST_STREAM": "accepted",
    "WINDOW_UPDATE": "accepted",
    "PRIORITY": "accepted",
    "CONTINUATION": "connection error PROTOCOL_ERROR",
  },
  "closed by the client's RST_STREAM": {
    "DATA": "connection error STREAM_CLOSED",
    "HEADERS": "connection error STREAM_CLOSED",
    "RST_STREAM": "accepted",
    "WINDOW_UPDATE": "accepted",
    "PRIORITY": "accepted",
    "CONTINUATION": "connection error PROTOCOL_ERROR",
  },
  // "An endpoint MUST ignore frames that it receives on closed streams after it has sent RST_STREAM."
  "closed by our RST_STREAM": {
    "DATA": "accepted",
    "HEADERS": "accepted",
    "RST_STREAM": "accepted",
    "WINDOW_UPDATE": "accepted",
    "PRIORITY": "accepted",
    "CONTINUATION": "connection error PROTOCOL_ERROR",
  },
};

/** Responds to `/now` at once; keeps the others. */
function serve(kept: Exchange[]) {
  return (exchange: Exchange): Promise<void> | void => {
    kept.push(exchange);
    if (exchange.request.path !== "/now") return new Promise<void>(() => {});
    const head = new ResponseHead();
    head.status = 200;
    head.bodyLength = head.contentLength = 0;
    return exchange.respond(head, NO_BODY)?.catch(() => {});
  };
}

/** How what was written since ends stream 1, or the connection. */
function outcomeOf(client: MemoryClient): string {
  const codes = Object.keys(CODE);
  for (const { type, stream, payload } of client.frames()) {
    const view = new DataView(payload.buffer, payload.byteOffset);
    if (type === FRAME.GOAWAY) return `connection error ${codes[view.getUint32(4)]}`;
    if (type === FRAME.RST_STREAM && stream === 1) {
      return `stream error ${codes[view.getUint32(0)]}`;
    }
  }
  return "accepted";
}

for (const [state, outcomes] of Object.entries(OUTCOMES)) {
  for (const [name, outcome] of Object.entries(outcomes)) {
    Deno.test(`${name} on a stream that is ${state}: ${outcome}`, async () => {
      using client = new MemoryClient(serve([]));
      await client.greet();
      for (const part of STATES[state as State](1)) await client.send(part);
      client.frames();
      await client.send(FRAMES[name as Frame]);
      assert.equal(outcomeOf(client), outcome);
      const ended = outcome.startsWith("connection") ? [outcome.slice(17).toLowerCase()] : [];
      assert.deepEqual(client.ends, ended);
      if (ended.length > 0) return;
      // The connection goes on with the next stream.
      await client.send(headers(3, get("/now"), { end: true }));
      const head = client.frames().find(({ type }) => type === FRAME.HEADERS);
      assert.equal(head?.stream, 3);
    });
  }
}

/** Events that our own code may cause by mistake. */
const OWN_EVENTS = {
  "HEADERS": (stream: ServerStream) => stream.opened(3),
  "END_STREAM sent": (stream: ServerStream) => stream.endLocal(),
  "END_STREAM received": (stream: ServerStream) => stream.endRemote(),
} as const;

const OWN_MISTAKES: readonly (readonly [state: State, event: keyof typeof OWN_EVENTS])[] = [
  ["open", "HEADERS"],
  ["half-closed (local)", "HEADERS"],
  ["half-closed (local)", "END_STREAM sent"],
  ["half-closed (remote)", "HEADERS"],
  ["half-closed (remote)", "END_STREAM received"],
  ["closed by END_STREAM", "HEADERS"],
  ["closed by END_STREAM", "END_STREAM sent"],
  ["closed by END_STREAM", "END_STREAM received"],
];

for (const [state, event] of OWN_MISTAKES) {
  Deno.test(`a mistake of our own, ${event} on a stream that is ${state}, closes the connection`, async () => {
    const kept: Exchange[] = [];
    using client = new MemoryClient(serve(kept));
    using other = new MemoryClient(serve([]));
    await client.greet();
    await other.greet();
    // Another stream of the connection is in progress.
    await client.send(headers(1, get("/wait"), { end: true }));
    for (const part of STATES[state](3)) await client.send(part);
    const [inProgress, broken] = kept;
    const reasons: string[] = [];
    inProgress.cancellation.register(({ code, message }) => reasons.push(`${code}: ${message}`));
    assert.ok(broken instanceof ServerStream);
    OWN_EVENTS[event](broken);
    const name = state.replace(/ by .*/, "");
    assert.deepEqual(reasons, [`internal: stream 3: ${event} while ${name}`]);
    client.frames();
    await client.send(headers(5, get("/now"), { end: true }));
    assert.deepEqual(client.frames(), []);
    await other.send(headers(1, get("/now"), { end: true }));
    assert.ok(other.frames().some(({ type }) => type === FRAME.HEADERS));
  });
}
