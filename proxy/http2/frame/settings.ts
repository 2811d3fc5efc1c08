/**
 * What a peer says in SETTINGS (RFC 9113 §6.5, RFC 8441 §3). In: the frame's payload. Out: its
 * parameters, or which rule one of them breaks.
 */
import { FLOW_CONTROL_ERROR, PROTOCOL_ERROR } from "./error_codes.ts";
import {
  ENABLE_CONNECT_PROTOCOL,
  ENABLE_PUSH,
  FRAME_SIZE,
  HEADER_TABLE_SIZE,
  INITIAL_WINDOW,
  INITIAL_WINDOW_SIZE,
  LARGEST_FRAME_SIZE,
  MAX_31_BITS,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE,
  readUint32,
  SETTING,
} from "./frame.ts";

/** An error of the connection. */
export interface SettingsError {
  readonly code: number;
  /** For GOAWAY's debug data. */
  readonly text: string;
}

const wrong = (code: number, text: string): SettingsError => ({ code, text });

/** A peer's settings in force. */
export class PeerSettings {
  /** Its SETTINGS have come. */
  isKnown = false;
  /** Of HPACK's table that it keeps for our heads, in bytes. */
  tableSize = 4096;
  /** The smallest that the last SETTINGS said of it, which our next head must own to (RFC 7541 §4.2). */
  smallestTableSize = Infinity;
  /** Streams that we may have open. */
  maxStreams = Infinity;
  /** In bytes, of each stream. */
  initialWindow = INITIAL_WINDOW;
  maxFrameSize = FRAME_SIZE;
  /** Bytes of a decoded head that it takes, as RFC 9113 §10.5.1 counts; only advice. */
  maxHeaderListSize = Infinity;
  /** It takes extended CONNECT (RFC 8441). */
  enableConnect = false;

  /** Takes the payload `bytes[start, end)`, whose length has been checked. What is wrong, or null. */
  read(bytes: Uint8Array, start: number, end: number, isServer: boolean): SettingsError | null {
    this.smallestTableSize = Infinity;
    for (let at = start; at < end; at += SETTING) {
      const value = readUint32(bytes, at + 2);
      const error = this.#set(bytes[at] << 8 | bytes[at + 1], value, isServer);
      if (error !== null) return error;
    }
    this.isKnown = true;
    return null;
  }

  #set(id: number, value: number, isServer: boolean): SettingsError | null {
    switch (id) {
      case HEADER_TABLE_SIZE:
        this.tableSize = value;
        this.smallestTableSize = Math.min(this.smallestTableSize, value);
        break;
      case ENABLE_PUSH:
        // Only clients may ask for it (§6.5.2).
        if (value > 1 || (value === 1 && !isServer)) {
          return wrong(PROTOCOL_ERROR, "bad SETTINGS_ENABLE_PUSH");
        }
        break;
      case MAX_CONCURRENT_STREAMS:
        this.maxStreams = value;
        break;
      case INITIAL_WINDOW_SIZE:
        if (value > MAX_31_BITS) {
          return wrong(FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE past 2^31-1");
        }
        this.initialWindow = value;
        break;
      case MAX_FRAME_SIZE:
        if (value < FRAME_SIZE || value > LARGEST_FRAME_SIZE) {
          return wrong(PROTOCOL_ERROR, "bad SETTINGS_MAX_FRAME_SIZE");
        }
        this.maxFrameSize = value;
        break;
      case MAX_HEADER_LIST_SIZE:
        this.maxHeaderListSize = value;
        break;
      case ENABLE_CONNECT_PROTOCOL:
        // It cannot be taken back (RFC 8441 §3).
        if (value > 1 || (value === 0 && this.enableConnect)) {
          return wrong(PROTOCOL_ERROR, "bad SETTINGS_ENABLE_CONNECT_PROTOCOL");
        }
        this.enableConnect = value === 1;
        break;
    }
    return null;
  }
}
