/**
 * Backends of several protocols that echo what they are sent. In: where to note requests. Out: ports, and a line
 * for each request, whatever the protocol: method, path, host, Content-Type and X-Own.
 */
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { Backend, reply } from "../support/backend.ts";
import { data, headers } from "../support/h2_frames.ts";
import { H2Backend, type H2Peer } from "../support/h2_peer.ts";
import { headerOf } from "../support/wire_message.ts";

/** Echoes each request, with a status of gRPC in the trailers. */
export function streamBackend(received: string[], certificate?: ServerCertificate): H2Backend {
  return new H2Backend(
    async (peer) => {
      const answered = new Set<number>();
      while (peer.ending === "") {
        for (const [id, message] of peer.streams) {
          if (!message.ended || answered.has(id)) continue;
          answered.add(id);
          const of = (name: string) => message.field(name);
          const host = of(":authority") || of("host");
          received.push(
            [of(":method"), of(":path"), host, of("content-type"), of("x-own")].join(),
          );
          const status = /\/status\/(\d+)/.exec(of(":path"))?.[1] ?? "0";
          await peer.send(
            headers(id, [[":status", "200"], ["content-type", of("content-type")]]),
            data(id, message.body),
            headers(id, [["grpc-status", status]], { end: true }),
          );
        }
        await anotherRequest(peer, answered.size);
      }
    },
    {},
    certificate,
  );
}

/** However long it takes: a connection is kept for the next one, which may never come. */
async function anotherRequest(peer: H2Peer, count: number): Promise<void> {
  const hasCome = () => [...peer.streams.values()].filter(({ ended }) => ended).length > count;
  while (!hasCome() && peer.ending === "") {
    await peer.until("another request", hasCome).catch(() => {});
  }
}

export function plainBackend(received: string[]): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      const { head, body } = asked;
      const [method, path] = head.split(" ");
      received.push(
        [method, path, ...["host", "content-type", "x-own"].map((name) => headerOf(head, name))]
          .join(),
      );
      await peer.send(reply(body));
    }
  });
}

/** Knows nothing but HTTP/1.1, as far as it has read. */
export function closingBackend(): Backend {
  return new Backend(async (peer) => {
    await peer.read();
    await peer.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  });
}

/** As `plainBackend`, over TLS. */
export async function secureBackend(received: string[], { chain, key }: ServerCertificate) {
  const server = https.createServer({ cert: chain, key: key.reveal() }, (request, response) => {
    const { method, url, headers } = request;
    received.push(
      [method, url, ...["host", "content-type", "x-own"].map((name) => headers[name])].join(),
    );
    request.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
