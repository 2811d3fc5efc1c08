/**
 * Clients that break off, and the backend that they leave waiting. In: a port and a number, which
 * says how far the client gets and how it goes. Out: nothing, once it is gone.
 */
import { Peer, reply, sendAndReset } from "../support/backend.ts";

const HOST = "Host: a.test\r\n";

/** What a client says, and whether it waits for the first bytes of an answer, before it goes. */
const STAGES: readonly { readonly text: string; readonly reads?: boolean }[] = [
  { text: "" },
  { text: `GET /wait HTTP/1.1\r\nHo` },
  { text: `GET /wait HTTP/1.1\r\n${HOST}\r\n` },
  { text: `GET /large HTTP/1.1\r\n${HOST}\r\n`, reads: true },
  { text: `GET /half HTTP/1.1\r\n${HOST}\r\n`, reads: true },
  { text: `GET /ok HTTP/1.1\r\n${HOST}\r\n` },
  { text: `GET /ok HTTP/1.1\r\n${HOST}\r\n`.repeat(5), reads: true },
  { text: `POST /wait HTTP/1.1\r\n${HOST}Content-Length: 100000\r\n\r\n${"x".repeat(50_000)}` },
  { text: `POST /wait HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n` },
  { text: `POST /half HTTP/1.1\r\n${HOST}Content-Length: 1000\r\n\r\n`, reads: true },
  { text: `POST /wait HTTP/1.1\r\n${HOST}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n` },
];

/** The `index`th client: each stage ends with a reset, with a FIN, and with a plain close. */
export async function abort(port: number, index: number): Promise<void> {
  const { text, reads } = STAGES[index % STAGES.length];
  if (index % 3 === 0) return await sendAndReset(port, text, Promise.resolve());
  using peer = await Peer.connect(port);
  await peer.send(text);
  if (reads) await peer.read();
  if (index % 3 === 1) await peer.finish();
}

const LARGE = new Uint8Array(1 << 20);

/** Answers what those clients ask for: `/ok` whole, the rest never. False where the peer has gone. */
export async function answerAborted(peer: Peer, path: string): Promise<boolean> {
  if (path === "/ok") return await peer.send(reply("ok"));
  if (path === "/half") await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
  if (path === "/large") {
    await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${64 * LARGE.length}\r\n\r\n`);
    for (let i = 0; i < 64; i++) if (!await peer.send(LARGE)) return false;
  }
  await peer.ended();
  return false;
}
