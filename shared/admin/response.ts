/**
 * An answer of the admin port, written. In: a `Response`. Out: its bytes on a connection that ends
 * with it: chunked, so that a page that broke off is not taken for whole, unless its length is told.
 */
import { STATUS_CODES } from "node:http";
import { type AdminRequest } from "./request.ts";

/** Of the page's own making; the peer is not at fault. */
export class BrokenPageError extends Error {
  override readonly name = "BrokenPageError";
}

/** Lines of plain text, their length told; without the last line end. */
export function textResponse(status: number, text: string): Response {
  const body = encoder.encode(`${text}\n`);
  return new Response(body, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-length": String(body.length),
    },
  });
}

/** @param body JSON. */
export function jsonResponse(body: string): Response {
  return new Response(`${body}\n`, { headers: { "content-type": "application/json" } });
}

/**
 * Writes all of `response`, pulling no faster than the peer takes it, until `stopped`. Throws
 * BrokenPageError when the body cannot be had, and what `write` throws when the peer has gone.
 * `request` is null where it could not be read.
 */
export async function sendResponse(
  connection: Deno.TcpConn,
  request: AdminRequest | null,
  response: Response,
  stopped: AbortSignal,
): Promise<void> {
  const { status, headers } = response;
  if (response.body === null) headers.set("content-length", "0");
  const chunked = !headers.has("content-length") && request?.minorVersion !== 0;
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  lines.push(`date: ${new Date().toUTCString()}`, "connection: close");
  if (chunked) lines.push("transfer-encoding: chunked");
  const pieces = response.body?.getReader();
  // Who makes the page stops then. It may not be able to say that it has.
  const stop = () => void pieces?.cancel().catch(() => {});
  stopped.addEventListener("abort", stop);
  try {
    await writeAll(connection, encoder.encode(`${lines.join("\r\n")}\r\n\r\n`));
    if (pieces === undefined || request?.method === "HEAD") return;
    // The frame is written by itself: a copy of each piece with its frame took a tenth of the CPU of a scrape of 16 MB.
    let end = "";
    for await (const piece of readAll(pieces)) {
      if (chunked) {
        await writeAll(connection, encoder.encode(`${end}${piece.length.toString(16)}\r\n`));
        end = "\r\n";
      }
      await writeAll(connection, piece);
    }
    if (chunked) await writeAll(connection, encoder.encode(`${end}0\r\n\r\n`));
  } finally {
    stopped.removeEventListener("abort", stop);
    stop();
  }
}

const encoder = new TextEncoder();

async function* readAll(
  pieces: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const piece = await pieces.read().catch((cause) => {
      throw new BrokenPageError("The page broke off", { cause });
    });
    if (piece.done) return;
    // A chunk of no bytes would be the last.
    if (piece.value.length > 0) yield piece.value;
  }
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}
