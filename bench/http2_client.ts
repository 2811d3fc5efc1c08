/**
 * As much of HTTP/2 (RFC 9113) as a client needs that asks for small responses in turn and looks at
 * nothing but how they end. In: what a connection brings. Out: what to send, and whether the response
 * under way is whole and a success.
 */
import {
  FLAG,
  FRAME,
  get,
  headers,
  join,
  PREFACE,
  settings,
  SETTINGS_ACK,
} from "../tests/support/h2_frames.ts";

const FRAME_HEADER = 9;

/** RFC 7541 appendix A: `:status: 200` of the static table, as one byte. */
const STATUS_200 = 0x88;

export class Http2Client {
  /** What it begins with: the preface, empty settings, and the acknowledgement of the server's. */
  readonly opening = join(PREFACE, settings(), SETTINGS_ACK);
  /** The last response has ended. */
  isAnswered = true;
  /** It began with the status 200. */
  isSuccess = false;
  /** GOAWAY has come. */
  isLeaving = false;
  readonly #host: string;
  readonly #path: string;
  /** The last stream's. */
  #id = -1;
  /** Of a frame that has not come whole. */
  #rest = new Uint8Array(0);

  constructor(host: string, path: string) {
    this.#host = host;
    this.#path = path;
  }

  /** The next request. */
  request(): Uint8Array<ArrayBuffer> {
    this.#id += 2;
    this.isAnswered = this.isSuccess = false;
    return headers(this.#id, get(this.#path, [], this.#host), { end: true });
  }

  receive(bytes: Uint8Array): void {
    let rest = join(this.#rest, bytes);
    for (;;) {
      if (rest.length < FRAME_HEADER) break;
      const view = new DataView(rest.buffer, rest.byteOffset);
      const end = FRAME_HEADER + (view.getUint32(0) >>> 8);
      if (rest.length < end) break;
      this.#take(rest[3], rest[4], view.getUint32(5), rest.subarray(FRAME_HEADER, end));
      rest = rest.subarray(end);
    }
    this.#rest = rest;
  }

  #take(type: number, flags: number, id: number, payload: Uint8Array): void {
    if (type === FRAME.GOAWAY) this.isLeaving = true;
    if (id !== this.#id) return;
    const isReset = type === FRAME.RST_STREAM;
    // No server that is measured pads its heads, or gives them a priority.
    if (type === FRAME.HEADERS && statusByte(payload) === STATUS_200) this.isSuccess = true;
    if (isReset) this.isSuccess = false;
    const canEnd = type === FRAME.HEADERS || type === FRAME.DATA;
    if (isReset || (canEnd && (flags & FLAG.END_STREAM) !== 0)) this.isAnswered = true;
  }
}

/** The first field of a response, behind what says how large the dynamic table may be (RFC 7541 §6.3). */
function statusByte(block: Uint8Array): number {
  let at = 0;
  while ((block[at] & 0xe0) === 0x20) {
    const isLong = (block[at++] & 0x1f) === 0x1f;
    if (isLong) { while ((block[at++] & 0x80) !== 0); }
  }
  return block[at];
}
