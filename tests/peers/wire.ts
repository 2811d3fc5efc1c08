/**
 * HTTP/1.1 messages off a socket, for the test's own ends: its client and its backend. In: a
 * connection. Out: heads, bodies and trailers, byte for byte. Shares no code with the proxy.
 */
import { textOf } from "../support/latin1.ts";

/** A field as it stands in a head: name, value without the blanks around it. */
export type Field = readonly [string, string];

export interface Head {
  /** Request or status line. */
  readonly line: string;
  readonly fields: readonly Field[];
}

export type Framing = "none" | "length" | "chunked" | "close";

export interface Content {
  readonly framing: Framing;
  /** Decoded, one character a byte. */
  readonly body: string;
  readonly trailers: readonly Field[];
}

/** The value of the one field with this name, in any case; null without one. */
export function valueOf(fields: readonly Field[], name: string): string | null {
  return fields.find(([one]) => one.toLowerCase() === name)?.[1] ?? null;
}

/** Elements of a list field over all its lines, in lower case. */
export function elementsOf(fields: readonly Field[], name: string): string[] {
  return fields
    .filter(([one]) => one.toLowerCase() === name)
    .flatMap(([, value]) => value.toLowerCase().split(","))
    .map((element) => element.trim())
    .filter((element) => element !== "");
}

const CRLF = "\r\n";

export class WireReader {
  readonly #connection: Deno.TcpConn;
  readonly #chunk = new Uint8Array(64 * 1024);
  #text = "";
  #ended = false;

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  /** The next head; null where the peer has closed before its first byte. */
  async head(): Promise<Head | null> {
    const lines: string[] = [];
    for (;;) {
      const line = await this.#line(lines.length === 0);
      if (line === null) return null;
      if (line === "") break;
      lines.push(line);
    }
    return { line: lines[0], fields: lines.slice(1).map(fieldOf) };
  }

  /** What follows a head; `untilClose` where neither length nor coding tells the end. */
  async content({ fields }: Head, untilClose: boolean): Promise<Content> {
    const length = valueOf(fields, "content-length");
    if (valueOf(fields, "transfer-encoding") !== null) return await this.#chunked();
    if (length !== null) {
      return { framing: "length", body: await this.#take(Number(length)), trailers: [] };
    }
    if (!untilClose) return { framing: "none", body: "", trailers: [] };
    while (!this.#ended) await this.#fill();
    const body = this.#text;
    this.#text = "";
    return { framing: "close", body, trailers: [] };
  }

  /** True once the peer has sent FIN and every byte before it has been taken. */
  async atEnd(): Promise<boolean> {
    while (this.#text === "" && !this.#ended) await this.#fill();
    return this.#text === "";
  }

  async #chunked(): Promise<Content> {
    let body = "";
    for (;;) {
      const line = (await this.#line(false))!;
      if (!/^[0-9a-fA-F]+(;.*)?$/.test(line)) throw new Error(`bad chunk line ${line}`);
      const size = parseInt(line, 16);
      if (size === 0) break;
      body += await this.#take(size);
      if (await this.#take(2) !== CRLF) throw new Error("a chunk is longer than its size");
    }
    const trailers: Field[] = [];
    for (let line = await this.#line(false); line !== ""; line = await this.#line(false)) {
      trailers.push(fieldOf(line!));
    }
    return { framing: "chunked", body, trailers };
  }

  async #line(mayEnd: boolean): Promise<string | null> {
    let from = 0;
    for (;;) {
      const end = this.#text.indexOf(CRLF, from);
      if (end !== -1) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return line;
      }
      if (this.#ended && this.#text === "" && mayEnd) return null;
      from = Math.max(0, this.#text.length - 1);
      await this.#more();
    }
  }

  async #take(length: number): Promise<string> {
    while (this.#text.length < length) await this.#more();
    const taken = this.#text.slice(0, length);
    this.#text = this.#text.slice(length);
    return taken;
  }

  async #more(): Promise<void> {
    const before = this.#text.length;
    if (this.#ended) throw new Error(`closed in the middle of a message, at ${this.#text}`);
    await this.#fill();
    if (this.#ended && before > 0) throw new Error("closed in the middle of a message");
  }

  async #fill(): Promise<void> {
    const count = await this.#connection.read(this.#chunk);
    if (count === null) this.#ended = true;
    else this.#text += textOf(this.#chunk.subarray(0, count));
  }
}

/** Writes all of `bytes`. */
export async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

function fieldOf(line: string): Field {
  const colon = line.indexOf(":");
  if (colon < 1) throw new Error(`no field: ${line}`);
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ +| +$/g, "")];
}
