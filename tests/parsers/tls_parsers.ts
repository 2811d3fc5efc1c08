/** Parsers of what clients of TLS send before a handshake. In: nothing. Out: rows of the table. */
import { ClientHelloReader } from "../../proxy/listen/client_hello.ts";
import { asciiBytes } from "../../proxy/http/fields.ts";
import { type Parser, textParser } from "./parser.ts";

export const TLS_PARSERS: readonly Parser[] = [
  helloParser("a ClientHello in one packet", (bytes) => bytes),
  helloParser("a ClientHello byte by byte", null),
];

/** `whole` gives the packet, or null for packets of one byte. */
function helloParser(name: string, whole: ((bytes: Uint8Array) => Uint8Array) | null): Parser {
  return textParser({
    name,
    functions: ["proxy/listen/client_hello.ts ClientHelloReader.read"],
    bytes: 16 * 1024,
    frames: [
      // A record, a message and its version, random, session, ciphers, compressions, extensions.
      [
        `\x16\x03\x01\x3f\xff\x01\0\x3f\xfb\x03\x03${"r".repeat(32)}\0\0\x02\x13\x01\x01\0\x3f\0`,
        "",
      ],
      ["\x16\x03\x01\x3f\xff\x01\0\x3f\xfb", ""],
    ],
    only: [
      "\x16\x03\x01\0\x01\x01",
      "\x16\x03\x01\x04\x00",
      "\0\0\0\0",
      "\0\x2b\0\x01\0",
      "\0\0\0\x05\0\x03\0",
      "a",
      "\0",
    ],
    read: (text) => {
      const bytes = asciiBytes(text);
      return () => {
        const reader = new ClientHelloReader();
        if (whole !== null) {
          reader.read(whole(bytes));
          return void reader.signatureSchemes;
        }
        for (let i = 0; i < bytes.length; i++) {
          if (reader.read(bytes.slice(i, i + 1)) !== "more") return;
        }
      };
    },
  });
}
