/**
 * Messages of gRPC as they stand in a body, without a schema. In: texts. Out: frames of five bytes of
 * head and the text; and the texts of such frames.
 */

/** What stands before a message: flags and length. */
const HEAD = 5;
const TRAILERS = 0x80;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One message; `flags` is 1 for a compressed one, which this is not. */
export function frameOf(text: string, flags = 0): Uint8Array<ArrayBuffer> {
  const payload = encoder.encode(text);
  const frame = new Uint8Array(HEAD + payload.length);
  frame[0] = flags;
  new DataView(frame.buffer).setUint32(1, payload.length);
  frame.set(payload, HEAD);
  return frame;
}

export function framesOf(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  return concat(texts.map((text) => frameOf(text)));
}

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** What a body, of gRPC or gRPC-Web, says. */
export interface Messages {
  readonly messages: string[];
  /** Of gRPC-Web's last frame; null where there was none. */
  readonly trailers: Record<string, string> | null;
}

/** Throws where the body ends within a frame, or has one behind that of trailers. */
export function messagesOf(body: Uint8Array): Messages {
  const messages: string[] = [];
  let trailers: Record<string, string> | null = null;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  for (let at = 0; at < body.length;) {
    if (at + HEAD > body.length) throw new Error(`ends within a frame's head at ${at}`);
    if (trailers !== null) throw new Error("a frame follows the trailers");
    const end = at + HEAD + view.getUint32(at + 1);
    if (end > body.length) throw new Error(`ends within the frame at ${at}`);
    const text = decoder.decode(body.subarray(at + HEAD, end));
    if (body[at] === TRAILERS) trailers = fieldsIn(text);
    else messages.push(text);
    at = end;
  }
  return { messages, trailers };
}

function fieldsIn(lines: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const line of lines.split("\r\n").slice(0, -1)) {
    const colon = line.indexOf(":");
    fields[line.slice(0, colon)] = line.slice(colon + 1).trim();
  }
  return fields;
}
