/**
 * The first message of a TLS handshake (RFC 8446 §4.1.2), as far as what a certificate is chosen by. In:
 * the bytes of a connection so far. Out: the server name that its client asks for, and signatures that it
 * can verify. All else, and whether the message is right, is for TLS itself to judge.
 */
import { latin1 } from "../http/fields.ts";

/** What is read of a handshake before its name is known, at most, in bytes. */
const MAX_HELLO = 16 * 1024;
/** Records that it may come in. No client sends more than a few; each costs work of its own. */
const MAX_RECORDS = 16;

const HANDSHAKE_RECORD = 22;
const RECORD_HEADER = 5;
/** Type and length of a handshake message. */
const MESSAGE_HEADER = 4;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const SIGNATURE_ALGORITHMS = 13;

/**
 * The server name (RFC 6066 §3) as it was sent, "" where there is none; "more" while the message is
 * not whole; null for what is no such message, or is longer than anybody's.
 */
export type ServerName = { readonly name: string } | "more" | null;

/**
 * Reads one connection's ClientHello as its packets come. It keeps its position: a packet costs its
 * own bytes, however many came before it.
 */
export class ClientHelloReader {
  /** All bytes so far, in `[0, #length)`. */
  #bytes: Uint8Array = EMPTY;
  #length = 0;
  /** Where the next record begins, or the part of it that has not come. */
  #at = 0;
  /** What is left of the record that `#at` is in. */
  #left = 0;
  #records = 0;
  /** The message, out of its records (RFC 8446 §5.1), in `[0, #held)`. */
  #message: Uint8Array = EMPTY;
  #held = 0;

  /** Everything that has been read. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Signature schemes (RFC 8446 §4.2.3) that the client can verify, once the name has been read. */
  get signatureSchemes(): number[] {
    const message = this.#message.subarray(0, this.#held);
    const list = extensionIn(message, SIGNATURE_ALGORITHMS) ?? EMPTY;
    const schemes: number[] = [];
    for (let at = 2; at + 2 <= list.length; at += 2) schemes.push(numberAt(list, at, 2));
    return schemes;
  }

  /** Reads the next packet; not to be called again once the result is not "more". */
  read(packet: Uint8Array): ServerName {
    // Nearly every message comes in one packet, which is not copied.
    this.#bytes = this.#length === 0 ? packet : appended(this.#bytes, this.#length, packet);
    this.#length += packet.length;
    while (this.#at < this.#length) {
      if (this.#left === 0) {
        if (this.#bytes[this.#at] !== HANDSHAKE_RECORD) return null;
        if (this.#at + RECORD_HEADER > this.#length) break;
        this.#left = numberAt(this.#bytes, this.#at + 3, 2);
        if (this.#left === 0 || ++this.#records > MAX_RECORDS) return null;
        this.#at += RECORD_HEADER;
        continue;
      }
      const count = Math.min(this.#left, this.#length - this.#at);
      const part = this.#bytes.subarray(this.#at, this.#at + count);
      this.#message = appended(this.#message, this.#held, part);
      this.#held += count;
      this.#at += count;
      this.#left -= count;
      if (this.#held < MESSAGE_HEADER) continue;
      if (this.#message[0] !== CLIENT_HELLO) return null;
      const wanted = MESSAGE_HEADER + numberAt(this.#message, 1, 3);
      if (this.#held >= wanted) return nameIn(this.#message.subarray(0, wanted));
    }
    return this.#length > MAX_HELLO ? null : "more";
  }
}

const EMPTY = new Uint8Array(0);

/** `held[0, length)` and `more` behind it, in an array with room for as much again. */
function appended(held: Uint8Array, length: number, more: Uint8Array): Uint8Array {
  if (length === 0) return more;
  const needed = length + more.length;
  // A packet's own array is never written to: what is behind it there is not ours.
  if (needed > held.length) {
    const larger = new Uint8Array(2 * needed);
    larger.set(held.subarray(0, length));
    held = larger;
  }
  held.set(more, length);
  return held;
}

/** The name in a whole ClientHello. */
function nameIn(message: Uint8Array): { readonly name: string } | null {
  const list = extensionIn(message, SERVER_NAME);
  return list === undefined ? { name: "" } : list && hostName(list);
}

/** The content of an extension; undefined without it, null where what stands before it is too long. */
function extensionIn(message: Uint8Array, wanted: number): Uint8Array | null | undefined {
  // Version and random, then the session's id, ciphers and compressions, each with its length.
  let at = MESSAGE_HEADER + 2 + 32;
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
    if (type === wanted) return message.subarray(at, at + length);
    at += length;
  }
  return undefined;
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
