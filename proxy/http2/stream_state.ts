/**
 * The states of a stream (RFC 9113 §5.1). In: a state, and an event. Out: the next state, or null
 * where the event is not allowed in that state.
 *
 *                  idle ──ABANDON──────────────────────────────────┐
 *                    │ HEADERS                                     │
 *                    ▼                                             │
 *     ┌─END_SENT── open ──END_RECEIVED─┐                           │
 *     ▼              │                 ▼                           │
 *     half-closed    │ RESET           half-closed                 │
 *     (local)        │                 (remote)                    │
 *     │ END_RECEIVED │                 │ END_SENT                  │
 *     │ or RESET     ▼                 │ or RESET                  │
 *     └──────────▶ closed ◀────────────┴───────────────────────────┘
 *
 * There are no reserved states: neither side may send PUSH_PROMISE (SETTINGS_ENABLE_PUSH is 0).
 * Ids without a stream object are the business of `streams.ts`.
 */

export const IDLE = 0;
export const OPEN = 1;
/** We have sent END_STREAM. */
export const HALF_CLOSED_LOCAL = 2;
/** The peer has sent END_STREAM. */
export const HALF_CLOSED_REMOTE = 3;
export const CLOSED = 4;

export type StreamState =
  | typeof IDLE
  | typeof OPEN
  | typeof HALF_CLOSED_LOCAL
  | typeof HALF_CLOSED_REMOTE
  | typeof CLOSED;

/** The stream's first HEADERS frame has been sent or received. */
export const HEADERS = 0;
/** A frame with END_STREAM has been sent. */
export const END_SENT = 1;
/** A frame with END_STREAM has been received. */
export const END_RECEIVED = 2;
/** RST_STREAM has been sent or received, or the connection has ended. */
export const RESET = 3;
/** The stream is given up before its HEADERS frame: the peer knows nothing of it, so no frame is due. */
export const ABANDON = 4;

export type StreamEvent =
  | typeof HEADERS
  | typeof END_SENT
  | typeof END_RECEIVED
  | typeof RESET
  | typeof ABANDON;

/** For messages. */
export const STATE_NAMES: Readonly<Record<StreamState, string>> = {
  [IDLE]: "idle",
  [OPEN]: "open",
  [HALF_CLOSED_LOCAL]: "half-closed (local)",
  [HALF_CLOSED_REMOTE]: "half-closed (remote)",
  [CLOSED]: "closed",
};
export const EVENT_NAMES: Readonly<Record<StreamEvent, string>> = {
  [HEADERS]: "HEADERS",
  [END_SENT]: "END_STREAM sent",
  [END_RECEIVED]: "END_STREAM received",
  [RESET]: "RST_STREAM",
  [ABANDON]: "abandoned",
};

type Row = readonly [
  headers: StreamState | null,
  endSent: StreamState | null,
  endReceived: StreamState | null,
  reset: StreamState | null,
  abandon: StreamState | null,
];

/** By state, then by event. */
const TRANSITIONS: readonly [Row, Row, Row, Row, Row] = [
  /* IDLE */ [OPEN, null, null, null, CLOSED],
  /* OPEN */ [null, HALF_CLOSED_LOCAL, HALF_CLOSED_REMOTE, CLOSED, null],
  /* HALF_CLOSED_LOCAL */ [null, null, CLOSED, CLOSED, null],
  /* HALF_CLOSED_REMOTE */ [null, CLOSED, null, CLOSED, null],
  /* CLOSED */ [null, null, null, null, null],
];

/** The state after `event`; null where the event is not allowed in `state`. */
export function transition(state: StreamState, event: StreamEvent): StreamState | null {
  return TRANSITIONS[state][event];
}
