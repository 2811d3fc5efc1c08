/** The states of a stream, event by event, as RFC 9113 §5.1 draws them. */
import assert from "node:assert/strict";
import {
  ABANDON,
  CLOSED,
  END_RECEIVED,
  END_SENT,
  EVENT_NAMES,
  HALF_CLOSED_LOCAL,
  HALF_CLOSED_REMOTE,
  HEADERS,
  IDLE,
  OPEN,
  RESET,
  STATE_NAMES,
  type StreamEvent,
  type StreamState,
  transition,
} from "./stream_state.ts";

const STATES: readonly StreamState[] = [IDLE, OPEN, HALF_CLOSED_LOCAL, HALF_CLOSED_REMOTE, CLOSED];
const EVENTS: readonly StreamEvent[] = [HEADERS, END_SENT, END_RECEIVED, RESET, ABANDON];

/** All that is allowed; RFC 9113 §5.1, and §5.1.1 for a stream that nobody has heard of. */
const ALLOWED: readonly (readonly [StreamState, StreamEvent, StreamState])[] = [
  // "Sending or receiving a HEADERS frame causes the stream to become open."
  [IDLE, HEADERS, OPEN],
  // Its id goes to the next stream, or is passed over.
  [IDLE, ABANDON, CLOSED],
  // "An endpoint sending an END_STREAM flag causes the stream state to become half-closed (local)."
  [OPEN, END_SENT, HALF_CLOSED_LOCAL],
  // "An endpoint receiving an END_STREAM flag … half-closed (remote)."
  [OPEN, END_RECEIVED, HALF_CLOSED_REMOTE],
  // "Either endpoint can send a RST_STREAM frame from this state."
  [OPEN, RESET, CLOSED],
  // "… transitions to closed when a frame is received with the END_STREAM flag or RST_STREAM."
  [HALF_CLOSED_LOCAL, END_RECEIVED, CLOSED],
  [HALF_CLOSED_LOCAL, RESET, CLOSED],
  // "… by sending a frame with the END_STREAM flag set or when either peer sends RST_STREAM."
  [HALF_CLOSED_REMOTE, END_SENT, CLOSED],
  [HALF_CLOSED_REMOTE, RESET, CLOSED],
];

for (const state of STATES) {
  for (const event of EVENTS) {
    const next = ALLOWED.find(([from, by]) => from === state && by === event)?.[2] ?? null;
    const outcome = next === null ? "not allowed" : STATE_NAMES[next];
    Deno.test(`stream state: ${STATE_NAMES[state]}, ${EVENT_NAMES[event]}: ${outcome}`, () => {
      assert.equal(transition(state, event), next);
    });
  }
}
