/**
 * What a sample backend streams. In: a request for a WebSocket, or for Server-Sent Events. Out: a
 * response that goes on until the client leaves: messages echoed as they came, or an event now and
 * one each second.
 */

/** Between two events, in ms. */
const INTERVAL = 1000;

export function isWebSocket(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** Echoes each message, text as text and bytes as bytes. */
export function echoWebSocket(request: Request): Response {
  // The handshake is Deno's: it refuses what is no WebSocket of RFC 6455.
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => socket.send(data);
  return response;
}

/** The events of an endless stream: `request` with this text, then `time` each second. */
export function eventStream(text: string): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  return new ReadableStream({
    start(controller) {
      const data = text.trimEnd().split("\n").map((line) => `data: ${line}\n`).join("");
      controller.enqueue(encoder.encode(`event: request\n${data}\n`));
      let id = 0;
      timer = setInterval(() => {
        const time = new Date().toISOString();
        controller.enqueue(encoder.encode(`event: time\nid: ${++id}\ndata: ${time}\n\n`));
      }, INTERVAL);
    },
    cancel() {
      clearInterval(timer);
    },
  });
}
