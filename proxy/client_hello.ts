/**
 * The first message of a TLS handshake (RFC 8446 §4.1.2), as far as the name in it. In: the bytes of
 * a connection so far. Out: the server name that its client asks for. All else, and whether the
 * message is right, is for TLS itself to judge.
 */
import { joined } from "../shared/bytes.ts";
import { latin1 } from "./fields.ts";

/** What is read of a handshake before its name is known, at most, in bytes. */
const MAX_HELLO = 16 * 1024;

const HANDSHAKE_RECORD = 22;
const RECORD_HEADER = 5;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/**
 * The server name (RFC 6066 §3) as it was sent, "" where there is none; "more" while the message is
 * not whole; null for what is no such message, or is longer than anybody's.
 */
export function readServerName(
  bytes: Uint8Array,
): { readonly name: string } | "more" | null {
  const message = messageOf(bytes);
  if (!(message instanceof Uint8Array)) return bytes.length > MAX_HELLO ? null : message;
  // Version and random, then the session's id, ciphers and compressions, each with its length.
  let at = 4 + 2 + 32;
  at += 1 + numberAt(message, at, 1);
  at += 2 + numberAt(message, at, 2);
  at += 1 + numberAt(message, at, 1);
  // Extensions, with the length of all of them before.
  at += 2;
  while (at + 4 <= message.length) {
    const type = numberAt(message, at, 2);
    const length = numberAt(message, at + 2, 2);
    at += 4;
    if (at + length > message.length) return null;
    if (type === SERVER_NAME) return hostName(message.subarray(at, at + length));
    at += length;
  }
  return { name: "" };
}

/** The whole message, from records in which it may come in parts (RFC 8446 §5.1). */
function messageOf(bytes: Uint8Array): Uint8Array | "more" | null {
  const parts: Uint8Array[] = [];
  let held = 0;
  let wanted = 0;
  for (let at = 0; at < bytes.length;) {
    if (bytes[at] !== HANDSHAKE_RECORD) return null;
    if (at + RECORD_HEADER > bytes.length) return "more";
    const length = numberAt(bytes, at + 3, 2);
    if (length === 0) return null;
    at += RECORD_HEADER;
    const part = bytes.subarray(at, at + length);
    parts.push(part);
    held += part.length;
    at += length;
    if (held < 4) continue;
    // Its length is read once, and its parts are joined once: a stranger may send thousands.
    if (wanted === 0) {
      const begun = joined(parts, held);
      if (begun[0] !== CLIENT_HELLO) return null;
      wanted = 4 + numberAt(begun, 1, 3);
    }
    if (held >= wanted) return joined(parts, held).subarray(0, wanted);
  }
  return "more";
}

/** The name in a list of names, of which there is one kind. */
function hostName(list: Uint8Array): { readonly name: string } | null {
  const length = numberAt(list, 3, 2);
  if (list.length < 5 || list[2] !== HOST_NAME || 5 + length > list.length) return null;
  return { name: latin1(list, 5, 5 + length) };
}

/** A number of so many bytes; not a number where they are not all there. */
function numberAt(bytes: Uint8Array, at: number, count: number): number {
  if (at + count > bytes.length) return NaN;
  let number = 0;
  for (let i = 0; i < count; i++) number = number * 256 + bytes[at + i];
  return number;
}
