/** Parsers of what clients send after the head: bodies, and frames in a tunnel. In: nothing. Out: rows of the table. */
import { TextBody } from "../../proxy/filters/grpc_web_body.ts";
import { Base64Decoder, decodedSize } from "../../proxy/grpc/base64.ts";
import { asciiBytes } from "../../proxy/http/fields.ts";
import { BytesBody } from "../../proxy/http/body.ts";
import { FrameBoundary, wholeFrame } from "../../proxy/http/websocket_frames.ts";
import { ChunkDecoder, wholeChunks } from "../../proxy/http1/chunked.ts";
import { type Parser, textParser } from "./parser.ts";

/** Of a connection's input, which bodies and tunnels pass through. */
const READ_BYTES = 64 * 1024;

export const BODY_PARSERS: readonly Parser[] = [
  textParser({
    name: "a chunked body",
    functions: ["proxy/http1/chunked.ts ChunkDecoder.decode"],
    bytes: READ_BYTES,
    frames: [["1;", ""], ['1;a="', ""], ["1\r\n", ""], ["0\r\n", ""]],
    pumps: ["1\r\na\r\n", "10\r\n0123456789abcdef\r\n", "1;a=b\r\na\r\n", '1;a="b"\r\na\r\n'],
    read: (text) => {
      const bytes = asciiBytes(text);
      const decoder = new ChunkDecoder();
      return () => {
        decoder.begin();
        // Data is moved within the buffer, so each run has the same bytes only at the first byte of
        // a chunk's data: the lengths stay as they are.
        decoder.decode(bytes.slice(), 0, bytes.length);
      };
    },
  }),
  textParser({
    name: "chunks that are relayed unchanged",
    functions: ["proxy/http1/chunked.ts wholeChunks"],
    bytes: READ_BYTES,
    frames: [["1\r\n", ""], ["0\r\n", ""]],
    pumps: ["1\r\na\r\n", "10\r\n0123456789abcdef\r\n", "1;a=b\r\na\r\n"],
    read: (text) => {
      const bytes = asciiBytes(text);
      return () => void wholeChunks(bytes, bytes.length);
    },
  }),
  textParser({
    name: "a body in base64",
    functions: [
      "proxy/grpc/base64.ts Base64Decoder.decode",
    ],
    bytes: READ_BYTES,
    only: ["AAAA", "A===", "AA==", "=", " ", "%"],
    read: (text) => {
      const bytes = asciiBytes(text);
      const out = new Uint8Array(decodedSize(1) + 3);
      return () => {
        const body = new TextBody(new BytesBody(bytes));
        for (let view = body.read(); view !== null; view = body.read()) {
          if (!(view instanceof Promise)) continue;
          view.catch(() => {});
          break;
        }
        const decoder = new Base64Decoder();
        for (let i = 0; i < bytes.length; i++) {
          if (decoder.decode(bytes.subarray(i, i + 1), out) === -1) return;
        }
      };
    },
  }),
  textParser({
    name: "the frames of a WebSocket",
    functions: [
      "proxy/http/websocket_frames.ts FrameBoundary.pass",
      "proxy/http/websocket_frames.ts wholeFrame",
    ],
    bytes: READ_BYTES,
    only: ["\x81\x00", "\x81\x80\0\0\0\0", "\x88\x01a", "\x82\x7e\0\x7ea", "\x82\x7f", "a"],
    read: (text) => {
      const bytes = asciiBytes(text);
      return () => {
        if (wholeFrame(bytes, bytes.length) === -1) new FrameBoundary().pass(bytes);
      };
    },
  }),
];
