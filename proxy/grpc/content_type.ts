/**
 * Which messages are gRPC, and which are gRPC-Web. In: values of Content-Type and Accept. Out: whose
 * rules hold for them.
 */
import { ACCEPT, asciiBytes, CONTENT_TYPE, type Fields } from "../http/fields.ts";
import { equalsLower } from "../http/letter_case.ts";
import { HTAB, PLUS, SEMICOLON, SP } from "../http/grammar.ts";

const GRPC = asciiBytes("application/grpc");

/** `application/grpc` with a suffix or parameters, not what only begins so (`application/grpc-web`). */
export function isGrpc(bytes: Uint8Array, start: number, end: number): boolean {
  const nameEnd = start + GRPC.length;
  if (nameEnd > end || !equalsLower(bytes, start, GRPC)) return false;
  const next = bytes[nameEnd];
  return nameEnd === end || next === PLUS || next === SEMICOLON || next === SP || next === HTAB;
}

/** Whether a message with these fields is gRPC. */
export function hasGrpc(fields: Fields): boolean {
  const index = fields.find(CONTENT_TYPE);
  return index !== -1 && isGrpc(fields.bytes, fields.valueStart(index), fields.valueEnd(index));
}

/** How a gRPC-Web body is written: as it is, or as base64. */
export type WebCoding = "binary" | "text";

const WEB = /^application\/grpc-web(-text(?:-base64)?)?(?=$|[+; \t])/i;

/** The coding that a value of Content-Type names; null where it is no gRPC-Web. */
export function webCoding(contentType: string): WebCoding | null {
  const found = WEB.exec(contentType);
  if (found === null) return null;
  return found[1] === undefined ? "binary" : "text";
}

/** The coding that the answer to a request of `coding` is to have: Accept may name the other one. */
export function acceptedWebCoding(fields: Fields, coding: WebCoding): WebCoding {
  for (let i = fields.find(ACCEPT); i !== -1; i = fields.find(ACCEPT, i + 1)) {
    for (const range of fields.value(i).split(",")) {
      const accepted = webCoding(range.trim());
      if (accepted !== null) return accepted;
    }
  }
  return coding;
}

/** `application/grpc-web-text+proto` as gRPC's own `application/grpc+proto`. */
export function withoutWeb(contentType: string): string {
  return contentType.replace(WEB, "application/grpc");
}

/** `application/grpc+proto` as gRPC-Web's own. */
export function withWeb(contentType: string, coding: WebCoding): string {
  const suffix = contentType.slice(GRPC.length);
  return `application/grpc-web${coding === "text" ? "-text" : ""}${suffix}`;
}
