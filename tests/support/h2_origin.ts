/**
 * A backend of HTTP/1.1 that counts what an attack on HTTP/2 makes of it. In: requests, whose path
 * says what they want. Out: answers, and how many there were, at once and in all.
 *
 *     /hold…   never an answer; the request's end is waited for
 *     /big…    an answer without end
 *     /echo…   200 with the request as it came, trailers after an empty line
 *     /deaf…   never an answer, and nothing of the body is read
 *     /sink…   200 with the body's length
 *     others   200 "ok" at once, whatever becomes of the body
 */
import { Backend, type Peer, reply } from "./backend.ts";

const PART = new Uint8Array(64 * 1024).fill(0x78);

export class Origin {
  /** Requests so far, without those of canaries. */
  hits = 0;
  /** Requests of `/hold` and `/big` under way. */
  held = 0;
  /** The most of them at once. */
  mostHeld = 0;
  /** Bytes of `/big` that were taken. */
  taken = 0;
  readonly #backend = new Backend((peer) => this.#play(peer));
  readonly #over = Promise.withResolvers<void>();

  get port(): number {
    return this.#backend.port;
  }

  /** Connections that the proxy has open. */
  get open(): number {
    return this.#backend.open.size;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#over.resolve();
    return this.#backend[Symbol.asyncDispose]();
  }

  async #play(peer: Peer): Promise<void> {
    for (;;) {
      const message = await peer.reader.head("request");
      if (message === null) return;
      const path = message.head.split(" ", 2)[1] ?? "";
      if (!path.startsWith("/canary")) this.hits++;
      if (path.startsWith("/deaf")) return await this.#over.promise;
      if (path.startsWith("/hold") || path.startsWith("/big")) {
        this.mostHeld = Math.max(this.mostHeld, ++this.held);
        if (path.startsWith("/hold")) await peer.ended();
        else await this.#sendWithoutEnd(peer);
        this.held--;
        return;
      }
      if (/\r\nexpect: 100-continue\r\n/i.test(message.head)) {
        await peer.send("HTTP/1.1 100 Continue\r\n\r\n");
      }
      if (path.startsWith("/echo") || path.startsWith("/sink")) {
        await peer.reader.body(message);
        if (!message.complete) return;
        const { head, body, trailers } = message;
        if (path.startsWith("/sink")) await peer.send(reply(String(body.length)));
        else await peer.send(reply(head + body + (trailers === "" ? "" : `\r\n\r\n${trailers}`)));
      } else {
        await peer.send(reply("ok"));
        await peer.reader.body(message);
        if (!message.complete) return;
      }
    }
  }

  async #sendWithoutEnd(peer: Peer): Promise<void> {
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n");
    while (await peer.send(PART)) this.taken += PART.length;
  }
}
