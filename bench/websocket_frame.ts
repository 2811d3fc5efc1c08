/**
 * The little of WebSocket (RFC 6455) that the benchmark's load and backend need of each other. In:
 * messages of up to 125 bytes. Out: frames, and the handshake's answer to a key.
 */
import { createHash } from "node:crypto";

/** §1.3 */
export function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/** Longer ones have another head (§5.2). */
export const MAX_PAYLOAD = 125;

export const BINARY = 2;
export const CLOSE = 8;

const MASK = [0x12, 0x34, 0x56, 0x78];

/** A client's frame, masked, or a server's, which must not be. */
export function encodeFrame(opcode: number, payload: Uint8Array, masked: boolean): Uint8Array {
  if (!masked) return Uint8Array.of(0x80 | opcode, payload.length, ...payload);
  const body = payload.map((byte, index) => byte ^ MASK[index & 3]);
  return Uint8Array.of(0x80 | opcode, 0x80 | payload.length, ...MASK, ...body);
}

/** Length of the frame that begins at `start`, 0 where it is not whole, -1 where it is too long. */
export function frameLength(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 2) return 0;
  const size = bytes[start + 1] & 0x7f;
  if (size > MAX_PAYLOAD) return -1;
  const length = (bytes[start + 1] & 0x80 ? 6 : 2) + size;
  return end - start < length ? 0 : length;
}

/** Turns a client's whole frame into a server's with the same message, in its place. */
export function unmask(frame: Uint8Array): Uint8Array {
  for (let at = 6; at < frame.length; at++) frame[at] ^= frame[2 + ((at - 6) & 3)];
  // The head without mask is four bytes shorter, and ends where the message begins.
  frame[5] = frame[1] & 0x7f;
  frame[4] = frame[0];
  return frame.subarray(4);
}
