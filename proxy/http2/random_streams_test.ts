/**
 * Streams in any order: what clients and handlers may do, at random from a seed. Whatever it is, each
 * exchange is told once, and every byte of window comes back.
 */
import assert from "node:assert/strict";
import {
  data,
  FRAME,
  get,
  headers,
  post,
  rstStream,
  SETTING,
  windowUpdate,
} from "../../tests/support/h2_frames.ts";
import { MemoryClient } from "../../tests/support/h2_memory_client.ts";
import { ProxyError } from "../errors.ts";
import { fieldsOf } from "../http/fields.ts";
import { type Body, BytesBody } from "../http/body.ts";
import { type Exchange, ResponseHead } from "../http/message.ts";

const ROUNDS = 80;
const MAX_OPEN = 20;
/** Of the connection, in bytes: what does not come back is missed soon. */
const WINDOW = 100_000;

/** xorshift32: numbers in [0, below). */
class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  below(below: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % below;
  }
}

/** A body that comes in pieces, later, and may break off; with trailers at its end. */
class PiecesBody implements Body {
  done = false;
  readonly trailers = fieldsOf([["x-end", "1"]]);
  #left: number;
  readonly #random: Random;

  constructor(pieces: number, random: Random) {
    this.#left = pieces;
    this.#random = random;
  }

  async read(): Promise<Uint8Array | null> {
    await Promise.resolve();
    if (this.#random.below(40) === 0) throw new ProxyError("upstream_closed");
    if (this.#left-- > 0) return new Uint8Array(this.#random.below(30_000));
    this.done = true;
    return null;
  }
}

function handlerOf(random: Random): (exchange: Exchange) => Promise<void> {
  return async (exchange) => {
    let aborted = false;
    exchange.cancellation.register(() => aborted = true);
    try {
      const reads = random.below(4) === 0 ? random.below(3) : Infinity;
      for (let i = 0; i < reads; i++) {
        if (await exchange.body.read() === null) break;
      }
      if (random.below(20) === 0) return;
      const head = new ResponseHead();
      head.status = 200;
      head.bodyLength = -1;
      const body = random.below(2) === 0
        ? new BytesBody(new Uint8Array(random.below(100_000)))
        : new PiecesBody(random.below(10), random);
      await exchange.respond(head, body);
    } catch (error) {
      assert.ok(error instanceof ProxyError, String(error));
      assert.ok(aborted || exchange.responded, "only who is told breaks off");
    }
  };
}

async function play(seed: number): Promise<void> {
  const random = new Random(seed);
  const limits = { http2Resets: 1e9, http2ControlFrames: 1e9, http2ConnectionWindow: WINDOW };
  using client = new MemoryClient(handlerOf(random), limits);
  await client.greet([[SETTING.INITIAL_WINDOW_SIZE, random.below(80_000)]]);
  /** Streams whose request goes on, with what may be sent of it. */
  const uploads = new Map<number, number>();
  const open = new Set<number>();
  let next = 1;
  let sent = 0;
  let given = 0;
  let window = WINDOW;
  for (let round = 0; round < ROUNDS; round++) {
    const parts: Uint8Array[] = [];
    for (let i = random.below(8); i >= 0; i--) {
      const ids = [...uploads.keys()];
      const id = ids[random.below(ids.length || 1)] ?? 0;
      switch (random.below(6)) {
        case 0:
        case 1:
          if (open.size >= MAX_OPEN) break;
          open.add(next);
          if (random.below(2) === 0) parts.push(headers(next, get("/"), { end: true }));
          else {
            parts.push(headers(next, post("/")));
            uploads.set(next, 65_535);
          }
          next += 2;
          break;
        case 2: {
          const size = random.below(16_385);
          if (id === 0 || uploads.get(id)! < size || window < size) break;
          const end = random.below(4) === 0;
          parts.push(data(id, new Uint8Array(size), { end }));
          sent += size;
          window -= size;
          if (end) uploads.delete(id);
          else uploads.set(id, uploads.get(id)! - size);
          break;
        }
        case 3:
          if (id === 0 || random.below(3) > 0) break;
          parts.push(rstStream(id));
          uploads.delete(id);
          open.delete(id);
          break;
        default:
          parts.push(windowUpdate(0, 1 + random.below(50_000)));
          for (const each of open) parts.push(windowUpdate(each, 1 + random.below(30_000)));
      }
    }
    if (random.below(10) === 0) client.hold();
    if (random.below(3) === 0) await client.release();
    await client.send(...parts);
    take();
  }
  await client.release();
  for (const id of open) await client.send(rstStream(id));
  take();
  assert.deepEqual(client.ends, []);
  assert.equal(client.ended.length, (next - 1) / 2, "each exchange is told once");
  assert.ok(!client.connection.isBusy, "nothing is left");
  assert.ok(sent - given < WINDOW / 2, `${sent} bytes sent, ${given} given back`);

  function take(): void {
    for (const { type, stream, payload, flags } of client.frames()) {
      const value = () => new DataView(payload.buffer).getUint32(0);
      if (type === FRAME.WINDOW_UPDATE && stream === 0) {
        given += value();
        window += value();
      } else if (type === FRAME.WINDOW_UPDATE && uploads.has(stream)) {
        uploads.set(stream, uploads.get(stream)! + value());
      } else if (type === FRAME.RST_STREAM) {
        uploads.delete(stream);
        open.delete(stream);
      } else if (
        (type === FRAME.DATA || type === FRAME.HEADERS) && (flags & 1) === 1 && !uploads.has(stream)
      ) open.delete(stream);
    }
  }
}

for (let seed = 1; seed <= 4; seed++) {
  Deno.test(`streams in random order (seed ${seed}) each end once, and leave nothing behind`, () =>
    play(seed));
}
