/**
 * Bytes as the transcripts write them. In: the text of a block. Out: latin1 text, one character a
 * byte, between the steps that are no bytes.
 *
 * Every byte is explicit, so the line breaks of a block mean nothing: `\r \n \t \0 \\ \xHH` are
 * bytes, `<...>` is a marker. `README.md` beside this file lists the markers.
 */
import { STATUS_CODES } from "node:http";
import { ERROR_KINDS, type ErrorCode } from "../../shared/error_kinds.ts";

/** What stands for the values that differ from run to run, so that texts can be compared. */
export const SOME_ID = "0".repeat(32);
export const SOME_DATE = "Thu, 01 Jan 1970 00:00:00 GMT";
export const SOME_PORT = "0";
export const SOME_MARK = "pingress-0000000000000000";

/** Bytes, or a marker's words. */
export type Part = { readonly bytes: string } | { readonly marker: string };

const ESCAPES: Readonly<Record<string, string>> = {
  r: "\r",
  n: "\n",
  t: "\t",
  0: "\0",
  "\\": "\\",
};

/** Reads a block. Throws for an escape or a marker that is none. */
export function readParts(block: string): Part[] {
  const parts: Part[] = [];
  let bytes = "";
  // The s flag of `<[^>]*>` is not wanted: a marker stands on one line.
  for (const [token] of block.matchAll(/\\x[0-9a-fA-F]{2}|\\.|<[^>\n]*>|\n|[^]/g)) {
    if (token === "\n") continue;
    if (token.startsWith("\\x") && token.length === 4) {
      bytes += String.fromCharCode(parseInt(token.slice(2), 16));
    } else if (token.startsWith("\\")) {
      const byte = ESCAPES[token.slice(1)];
      if (byte === undefined) throw new Error(`Cannot read ${token}: no such escape`);
      bytes += byte;
    } else if (token.startsWith("<") && token.length > 1) {
      const words = token.slice(1, -1);
      const repeated = /^(.+)\*(\d+)$/.exec(words);
      if (repeated !== null) bytes += bytesOf(repeated[1]).repeat(Number(repeated[2]));
      else if (words === "id") bytes += SOME_ID;
      else if (words === "date") bytes += SOME_DATE;
      else if (words === "port") bytes += SOME_PORT;
      else if (words.startsWith("forwarded")) bytes += forwardedFields(bytesOf(words.slice(10)));
      else {
        if (bytes !== "") parts.push({ bytes });
        bytes = "";
        parts.push({ marker: words });
      }
    } else {
      if (token > "\x7e") throw new Error(`Cannot read ${JSON.stringify(token)}: write its byte`);
      bytes += token;
    }
  }
  if (bytes !== "") parts.push({ bytes });
  return parts;
}

/** The bytes of a block in which no marker stands. */
export function bytesOf(block: string): string {
  return readParts(block).map((part) => {
    if ("marker" in part) throw new Error(`Cannot read <${part.marker}>: no such marker here`);
    return part.bytes;
  }).join("");
}

/** Bytes as the transcripts write them, for messages about what differs. */
export function writeNotation(bytes: string): string {
  return bytes.replace(/[^\x20-\x7e]|\\/g, (byte) => {
    for (const [letter, value] of Object.entries(ESCAPES)) if (value === byte) return `\\${letter}`;
    return `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`;
  }).replaceAll("\\r\\n", "\\r\\n\n");
}

/** What the proxy adds to a request from this machine, over plain HTTP. */
function forwardedFields(authority: string): string {
  return `X-Request-Id: ${SOME_ID}\r\nX-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\n` +
    `X-Forwarded-Proto: http\r\nX-Forwarded-Port: ${SOME_PORT}\r\nCDN-Loop: ${SOME_MARK}\r\n` +
    (authority === "" ? "" : `X-Forwarded-Host: ${authority}\r\n`);
}

/**
 * All texts that an answer's block may stand for. `<ok>` is the plain backend's answer, `<400>` our
 * own with any of our texts for 400, `<400 bad_host>` the one for that error, with `json` behind it
 * the JSON form. An answer that closes says so, but with `open` behind it.
 */
export function answerTexts(block: string, closes: boolean, toHead: boolean): string[] {
  const parts = readParts(block);
  if (parts.length === 1 && "marker" in parts[0]) {
    return markedAnswer(parts[0].marker, closes, toHead);
  }
  return [bytesOf(block)];
}

function markedAnswer(marker: string, closes: boolean, toHead: boolean): string[] {
  if (marker.endsWith(" open")) return markedAnswer(marker.slice(0, -5), false, toHead);
  const end = closes ? "Connection: close\r\n\r\n" : "\r\n";
  if (marker === "ok") {
    const head =
      `HTTP/1.1 200 OK\r\nServer: pingress\r\nDate: ${SOME_DATE}\r\nContent-Length: 2\r\n`;
    return [`${head}${end}${toHead ? "" : "ok"}`];
  }
  const words = /^(\d{3})(?: ([a-z_]+))??( json)?$/.exec(marker);
  if (words === null) throw new Error(`Cannot read <${marker}>: no such answer`);
  const [, status, code, json] = words;
  const codes = (Object.keys(ERROR_KINDS) as ErrorCode[]).filter((known) =>
    ERROR_KINDS[known].status === Number(status) && (code === undefined || code === known)
  );
  if (codes.length === 0) throw new Error(`Cannot read <${marker}>: no such error`);
  return codes.map((known) => {
    const { head, body } = ownAnswer(known, json !== undefined);
    return `${head}${end}${toHead ? "" : body}`;
  });
}

/** Our own answer to an error, without what ends its head. */
function ownAnswer(code: ErrorCode, json: boolean): { head: string; body: string } {
  const { status, text } = ERROR_KINDS[code];
  const reason = STATUS_CODES[status]!;
  const body = json
    ? `{"status":${status},"error":"${reason}","message":"${text}","requestId":"${SOME_ID}"}\n`
    : `${status} ${reason}: ${text}\nRequest id: ${SOME_ID}\n`;
  const type = json ? "application/json" : "text/plain; charset=utf-8";
  const more = status === 503 && code !== "route_closed"
    ? "Retry-After: 5\r\n"
    : status === 405
    ? "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"
    : "";
  return {
    head: `HTTP/1.1 ${status} ${reason}\r\nContent-Type: ${type}\r\nCache-Control: no-store\r\n` +
      `X-Request-Id: ${SOME_ID}\r\n${more}Server: pingress\r\nDate: ${SOME_DATE}\r\n` +
      `Content-Length: ${body.length}\r\n`,
    body,
  };
}
