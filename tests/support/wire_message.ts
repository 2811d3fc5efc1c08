/**
 * HTTP/1.1 messages as a test sees them, read from bytes by a reader that shares nothing with the
 * proxy's. In: bytes as they come. Out: heads to the byte, bodies freed of their chunks' bounds,
 * and whether a message was whole.
 */

/** `response to HEAD` has no body whatever its fields say. */
export type MessageKind = "request" | "response" | "response to HEAD";

type Framing = "none" | "length" | "chunked" | "close";

/** A message, or what came of it. Text is latin1: one character a byte. */
export interface WireMessage {
  /** Start line and fields with their line ends, the empty line included. */
  head: string;
  framing: Framing;
  body: string;
  /** Trailer fields with their line ends, without the empty line. */
  trailers: string;
  /** The end that the framing promised has come. */
  complete: boolean;
  /** What is wrong with its framing, or "". */
  fault: string;
}

/** The bytes of a message, with all of its body in one chunk. */
export function messageText(message: WireMessage): string {
  const { head, framing, body, trailers, complete, fault } = message;
  let text = head;
  if (framing === "chunked") {
    if (body !== "") text += `${body.length.toString(16)}\r\n${body}\r\n`;
    if (complete) text += `0\r\n${trailers}\r\n`;
  } else {
    text += body;
  }
  if (fault !== "") return `${text}<${fault}>`;
  return complete ? text : `${text}<cut>`;
}

/** The value of a head's first field with this name, in any case; null where there is none. */
export function headerOf(head: string, name: string): string | null {
  return new RegExp(`\r\n${name}: ([^\r]*)`, "i").exec(head)?.[1] ?? null;
}

/** Reads one message after another. */
export class MessageReader {
  readonly #read: () => Promise<string | null>;
  #text = "";
  #ended = false;

  /** @param read gives the next bytes, or null at the end. */
  constructor(read: () => Promise<string | null>) {
    this.#read = read;
  }

  /** A reader of bytes that are all there. */
  static of(text: string): MessageReader {
    let rest: string | null = text;
    return new MessageReader(() => {
      const now = rest;
      rest = null;
      return Promise.resolve(now);
    });
  }

  /** What has come and belongs to no message yet. */
  get rest(): string {
    return this.#text;
  }

  async message(kind: MessageKind): Promise<WireMessage | null> {
    const message = await this.head(kind);
    if (message !== null) await this.body(message);
    return message;
  }

  /** The next head, without its body; null when no byte came any more. */
  async head(kind: MessageKind): Promise<WireMessage | null> {
    let end = -1;
    while ((end = this.#text.indexOf("\r\n\r\n")) === -1) {
      if (await this.#fill()) continue;
      if (this.#text === "") return null;
      const head = this.#take(this.#text.length);
      return { head, framing: "none", body: "", trailers: "", complete: false, fault: "" };
    }
    const head = this.#take(end + 4);
    const [framing, fault] = framingOf(head, kind);
    return { head, framing, body: "", trailers: "", complete: framing === "none", fault };
  }

  /** Reads the body of the message whose head has just been read. */
  async body(message: WireMessage): Promise<void> {
    if (message.complete || message.fault !== "") return;
    if (message.framing === "chunked") return await this.#chunked(message);
    const length = message.framing === "length"
      ? Number(/^content-length: *(\d+) *$/im.exec(message.head)![1])
      : Infinity;
    while (message.framing !== "none") {
      message.body += this.#take(Math.min(this.#text.length, length - message.body.length));
      if (message.body.length === length) break;
      if (!await this.#fill()) {
        message.complete = length === Infinity;
        return;
      }
    }
    message.complete = message.framing !== "none";
  }

  async #chunked(message: WireMessage): Promise<void> {
    for (;;) {
      const line = await this.#line();
      if (line === null) return;
      if (!/^[0-9a-fA-F]{1,8}(;.*)?$/.test(line)) {
        message.fault = `chunk size ${JSON.stringify(line)}`;
        return;
      }
      let size = parseInt(line, 16);
      if (size === 0) break;
      while (size > 0) {
        if (this.#text === "" && !await this.#fill()) return;
        const data = this.#take(Math.min(this.#text.length, size));
        message.body += data;
        size -= data.length;
      }
      const end = await this.#line();
      if (end === null) return;
      if (end !== "") {
        message.fault = `chunk ends with ${JSON.stringify(end)}`;
        return;
      }
    }
    for (;;) {
      const line = await this.#line();
      if (line === null) return;
      if (line === "") break;
      message.trailers += `${line}\r\n`;
    }
    message.complete = true;
  }

  /** The next line without its CRLF, or null at the end. */
  async #line(): Promise<string | null> {
    let end = -1;
    while ((end = this.#text.indexOf("\r\n")) === -1) if (!await this.#fill()) return null;
    return this.#take(end + 2).slice(0, -2);
  }

  #take(length: number): string {
    const taken = this.#text.slice(0, length);
    this.#text = this.#text.slice(length);
    return taken;
  }

  async #fill(): Promise<boolean> {
    const more = this.#ended ? null : await this.#read();
    if (more === null) this.#ended = true;
    else this.#text += more;
    return more !== null;
  }
}

/** RFC 9112 §6.3, for messages that are to be unambiguous. */
function framingOf(head: string, kind: MessageKind): [framing: Framing, fault: string] {
  const lengths = [...head.matchAll(/^content-length: *(.*?) *$/gim)].map((match) => match[1]);
  const codings = [...head.matchAll(/^transfer-encoding: *(.*?) *$/gim)].map((match) => match[1]);
  if (kind === "response to HEAD" || /^HTTP\/1.\d (1\d\d|204|304)/.test(head)) return ["none", ""];
  if (lengths.length + codings.length > 1) return ["none", "two framings"];
  if (codings.length === 1) {
    return codings[0] === "chunked" ? ["chunked", ""] : ["none", "unknown coding"];
  }
  if (lengths.length === 1) {
    if (!/^\d+$/.test(lengths[0])) return ["none", "bad length"];
    return [lengths[0] === "0" ? "none" : "length", ""];
  }
  return [kind === "request" ? "none" : "close", ""];
}
