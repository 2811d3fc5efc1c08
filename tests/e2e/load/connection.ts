/**
 * A client's connection, plain or in TLS. In: where to, and requests. Out: whole answers, or how it
 * failed. Nothing is ever sent twice: what to do about a failure is not decided here.
 */
import { MessageReader, type WireMessage } from "../../support/wire_message.ts";
import type { FailureKind } from "./plan.ts";
import { textOf } from "../../support/latin1.ts";

export interface Target {
  readonly address: string;
  readonly port: number;
  /** For TLS: the name to ask for and to verify, and what may have signed its certificate. */
  readonly tls: { readonly name: string; readonly authority: string } | null;
}

/** Why there is no good answer. With `status` its detail begins with the answer's first line. */
export class RequestFailure extends Error {
  readonly how: FailureKind;

  constructor(how: FailureKind, detail: string) {
    super(detail);
    this.how = how;
  }

  /** Of an answer that should have another one; else 0. */
  get status(): number {
    return this.how === "status" ? Number(this.message.split(" ")[1]) : 0;
  }
}

const BUFFER = 16 * 1024;

/**
 * Between answers it reads on, as clients do, so that it notices when the other side closes.
 */
export class Connection {
  /** Requests that were answered. */
  answered = 0;
  ended = false;
  readonly #conn: Deno.Conn;
  readonly #reader: MessageReader;
  readonly #buffer = new Uint8Array(BUFFER);
  #reading: Promise<string | null> | null = null;
  #timedOut = false;
  /** How the other side has ended: by FIN unless a read or a write says otherwise. */
  #ending: "closed" | "reset" = "closed";
  /** What a read has failed with, but for a reset. */
  #detail = "";

  private constructor(conn: Deno.Conn) {
    this.#conn = conn;
    this.#reader = new MessageReader(() => {
      const reading = this.#reading ?? this.#read();
      this.#reading = null;
      return reading;
    });
  }

  /** Rejects with a `RequestFailure`. */
  static async open(
    { address, port, tls }: Target,
    signal: AbortSignal,
  ): Promise<Connection> {
    let conn: Deno.TcpConn;
    try {
      conn = await Deno.connect({ hostname: address, port, signal });
    } catch (error) {
      if (signal.aborted) throw new RequestFailure("timeout", "connecting");
      const how = error instanceof Deno.errors.ConnectionRefused ? "refused" : "connect";
      throw new RequestFailure(how, String(error));
    }
    conn.setNoDelay(true);
    if (tls === null) return new Connection(conn);
    const close = () => {
      try {
        conn.close();
      } catch {
        // The handshake has taken it, or it has gone.
      }
    };
    signal.addEventListener("abort", close);
    try {
      const { name, authority } = tls;
      const secure = await Deno.startTls(conn, { hostname: name, caCerts: [authority] });
      await secure.handshake();
      return new Connection(secure);
    } catch (error) {
      if (signal.aborted) throw new RequestFailure("timeout", "in the handshake");
      throw new RequestFailure("handshake", String(error));
    } finally {
      signal.removeEventListener("abort", close);
    }
  }

  /** Sends a request and gives its whole answer; rejects with a `RequestFailure`. */
  async ask(request: Uint8Array, signal: AbortSignal): Promise<WireMessage> {
    const stop = () => {
      this.#timedOut = true;
      this.close();
    };
    signal.addEventListener("abort", stop);
    try {
      // An answer may come before all of the request is gone, and the rest of it be refused.
      const [, answer] = await Promise.all([this.#write(request), this.#answer()]);
      this.answered++;
      return answer;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Reads until the next request; `onEnd` is called when the other side ends before. */
  rest(onEnd: () => void): void {
    this.#reading ??= this.#read();
    this.#reading.then((text) => {
      if (text === null) onEnd();
    });
  }

  close(): void {
    if (this.ended) return;
    this.ended = true;
    this.#conn.close();
  }

  async #answer(): Promise<WireMessage> {
    for (;;) {
      const message = await this.#reader.message("response");
      if (message === null) throw this.#failure(this.#ending, this.#detail);
      if (!message.complete || message.fault !== "") {
        throw this.#failure("cut", `${message.fault} ${message.head}`);
      }
      if (!/^HTTP\/1\.1 1\d\d /.test(message.head)) return message;
    }
  }

  #failure(how: FailureKind, detail: string): RequestFailure {
    return this.#timedOut
      ? new RequestFailure("timeout", `waiting for the answer ${detail}`)
      : new RequestFailure(how, detail);
  }

  async #write(view: Uint8Array): Promise<void> {
    try {
      while (view.length > 0) view = view.subarray(await this.#conn.write(view));
    } catch {
      // The reader tells how it ended.
    }
  }

  async #read(): Promise<string | null> {
    try {
      const count = await this.#conn.read(this.#buffer);
      if (count !== null) return textOf(this.#buffer.subarray(0, count));
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionReset) this.#ending = "reset";
      else this.#detail = String(error);
    }
    this.close();
    return null;
  }
}
