/** 1 GiB through a side that reads slowly, each way: the other side waits, and memory stays flat. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, signal, statusOf } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { FULL, MemoryWatch, MIB, mib, SLACK } from "./memory_watch.ts";

const SIZE = FULL ? 1024 * MIB : 64 * MIB;
/** What the socket buffers of two connections on this machine may hold. */
const BUFFERED = 32 * MIB;

/** The reader falls behind by a pause, in ms, after each of so many bytes. */
const PAUSE = 5;
const BURST = 2 * MIB;

const FRAMINGS = ["Content-Length", "Transfer-Encoding"] as const;
type Framing = typeof FRAMINGS[number];

for (const framing of FRAMINGS) {
  Deno.test(`${mib(SIZE)} to a slow client (${framing}) do not increase memory`, async () => {
    const flow = new Flow();
    const end = signal();
    await using backend = new Backend(async (peer) => {
      await peer.reader.head("request");
      await peer.send(`HTTP/1.1 200 OK\r\n${field(framing)}\r\n\r\n`);
      await flow.write(peer, framing);
      await end.promise;
    });
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([backend.port]),
      args: ["--workers=1", "--allow-loopback-upstreams"],
    });
    using client = await Peer.connect(proxy.httpPort);
    using memory = await MemoryWatch.begin(proxy);
    await client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    await flow.read(client, "response", framing);
    end.resolve();
    report(`to a slow client (${framing})`, memory, flow);
  });

  Deno.test(`${mib(SIZE)} to a slow backend (${framing}) do not increase memory`, async () => {
    const flow = new Flow();
    await using backend = new Backend(async (peer) => {
      await flow.read(peer, "request", framing);
      await peer.send(reply("ok"));
      await peer.ended();
    });
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([backend.port]),
      args: ["--workers=1", "--allow-loopback-upstreams"],
    });
    using client = await Peer.connect(proxy.httpPort);
    using memory = await MemoryWatch.begin(proxy);
    await client.send(`POST / HTTP/1.1\r\nHost: a.test\r\n${field(framing)}\r\n\r\n`);
    await flow.write(client, framing);
    assert.equal(statusOf(await client.answer()), 200);
    report(`to a slow backend (${framing})`, memory, flow);
  });
}

function report(way: string, memory: MemoryWatch, { lead }: Flow): void {
  console.log(`${way}: memory +${mib(memory.growth)}, the writer ahead by ${mib(lead)} at most`);
  assert.ok(memory.growth < SLACK, `memory grew by ${mib(memory.growth)}`);
  assert.ok(lead < BUFFERED, `${mib(lead)} were taken before they could be passed on`);
}

function field(framing: Framing): string {
  return framing === "Content-Length" ? `Content-Length: ${SIZE}` : "Transfer-Encoding: chunked";
}

/** One body from a writer in this process to a reader in this process. */
class Flow {
  /** The most that the writer was ahead, in bytes. */
  lead = 0;
  #read = 0;

  async write(peer: Peer, framing: Framing): Promise<void> {
    const part = new Uint8Array(MIB);
    for (let sent = 0; sent < SIZE; sent += MIB) {
      if (framing === "Transfer-Encoding") await peer.send(`${MIB.toString(16)}\r\n`);
      assert.ok(await peer.send(part), "the proxy takes no more");
      if (framing === "Transfer-Encoding") await peer.send("\r\n");
      this.lead = Math.max(this.lead, sent + MIB - this.#read);
    }
    if (framing === "Transfer-Encoding") await peer.send("0\r\n\r\n");
  }

  /** Reads a head and its body; the body is all zeros, so it ends with the last chunk's text. */
  async read(peer: Peer, kind: "request" | "response", framing: Framing): Promise<void> {
    const { head } = (await peer.reader.head(kind))!;
    let paused = 0;
    let tail = "";
    do {
      const view = await peer.read();
      if (view === null) throw new Error(`the body ended after ${this.#read} bytes`);
      this.#read = peer.received - head.length;
      tail = (tail + String.fromCharCode(...view.slice(-5))).slice(-5);
      if (this.#read - paused >= BURST) {
        paused = this.#read;
        await new Promise((resume) => setTimeout(resume, PAUSE));
      }
    } while (framing === "Content-Length" ? this.#read < SIZE : tail !== "0\r\n\r\n");
  }
}
