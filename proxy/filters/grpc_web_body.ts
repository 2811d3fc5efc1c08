/**
 * Bodies between gRPC-Web and gRPC (gRPC's doc/PROTOCOL-WEB.md). In: a body that is pulled. Out: the
 * same messages as the other side writes them: base64 decoded or encoded part by part, and trailers
 * as the last frame of a body. At most one part is held.
 */
import { ProxyError } from "../errors.ts";
import { DROPPED, type Fields } from "../http/fields.ts";
import { Base64Decoder, decodedSize, encodeBase64, encodedSize } from "../grpc/base64.ts";
import type { Body } from "../http/body.ts";

/** The first bit of a frame's flags says that it is of trailers. */
const TRAILERS = 0x80;
/** Flags and length. */
const FRAME_HEAD = 5;

const NOTHING = new Uint8Array(0);

/** A request's body in base64, decoded. Rejects with `bad_chunk` where it is none. */
export class TextBody implements Body {
  readonly trailers = null;
  readonly #text: Body;
  readonly #decoder = new Base64Decoder();
  #failure: ProxyError | null = null;
  #out: Uint8Array = NOTHING;

  constructor(text: Body) {
    this.#text = text;
  }

  get done(): boolean {
    return this.#text.done && this.#decoder.isWhole && this.#failure === null;
  }

  read(): ReturnType<Body["read"]> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    try {
      for (;;) {
        const text = this.#text.read();
        if (text instanceof Promise) return this.#readLater(text);
        const view = this.#decode(text);
        // Of less than a group of four nothing comes.
        if (view === null || view.length > 0) return view;
      }
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #readLater(coming: Promise<Uint8Array | null>): Promise<Uint8Array | null> {
    const view = this.#decode(await coming);
    return view === null || view.length > 0 ? view : await this.read();
  }

  #decode(text: Uint8Array | null): Uint8Array | null {
    if (text === null) {
      if (this.#decoder.isWhole) return null;
      throw this.#failure = new ProxyError("bad_chunk", "base64 that ends within a group");
    }
    const size = decodedSize(text.length);
    if (this.#out.length < size) this.#out = new Uint8Array(size);
    const count = this.#decoder.decode(text, this.#out);
    if (count === -1) throw this.#failure = new ProxyError("bad_chunk", "no base64");
    return this.#out.subarray(0, count);
  }
}

/** An answer's body with its trailers behind the last message. */
export class WebBody implements Body {
  readonly trailers = null;
  readonly #body: Body;
  readonly #isText: boolean;
  #out: Uint8Array = NOTHING;
  #ended = false;

  constructor(body: Body, isText: boolean) {
    this.#body = body;
    this.#isText = isText;
  }

  get done(): boolean {
    return this.#ended;
  }

  read(): ReturnType<Body["read"]> {
    if (this.#ended) return null;
    const view = this.#body.read();
    return view instanceof Promise ? view.then(this.#write) : this.#write(view);
  }

  readonly #write = (view: Uint8Array | null): Uint8Array | null => {
    if (view === null) {
      this.#ended = true;
      const { trailers } = this.#body;
      if (trailers === null) return null;
      view = trailersFrame(trailers);
    }
    return this.#isText ? this.#encode(view) : view;
  };

  #encode(view: Uint8Array): Uint8Array {
    const size = encodedSize(view.length);
    if (this.#out.length < size) this.#out = new Uint8Array(size);
    return this.#out.subarray(0, encodeBase64(view, this.#out));
  }
}

/** Trailers as a frame: `name: value CRLF` of each, with names in lower case. */
function trailersFrame(trailers: Fields): Uint8Array {
  let lines = "";
  for (let i = 0; i < trailers.count; i++) {
    if (trailers.ids[i] === DROPPED) continue;
    lines += `${trailers.name(i).toLowerCase()}: ${trailers.value(i)}\r\n`;
  }
  const frame = new Uint8Array(FRAME_HEAD + lines.length);
  frame[0] = TRAILERS;
  new DataView(frame.buffer).setUint32(1, lines.length);
  for (let i = 0; i < lines.length; i++) frame[FRAME_HEAD + i] = lines.charCodeAt(i);
  return frame;
}
