/** A client that is no browser. In: an address, a path and headers. Out: the status and the response. */
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { WebSocket } from "ws";
import { HOST } from "./site.ts";

/** How long a response is waited for, in ms. */
const PATIENCE = 30_000;

export interface Place {
  readonly address: string;
  readonly port: number;
  /** Certificates in PEM. */
  readonly ca: string;
}

export interface Response {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

export type Headers = Readonly<Record<string, string>>;

/** A GET over HTTP/1.1. */
export function get(place: Place, path: string, headers: Headers = {}): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...optionsFor(place, headers), path }, (response: IncomingMessage) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => body += part);
      response.on(
        "end",
        () =>
          resolve({ status: response.statusCode ?? 0, location: response.headers.location, body }),
      );
      response.on("error", reject);
    });
    sent.on("timeout", () => sent.destroy(new Error(`no response to ${path}`)));
    sent.on("error", reject);
    sent.end();
  });
}

/** The status of a WebSocket's handshake: 101 where it is open, and it is closed then. */
export function handshake(place: Place, path: string, headers: Headers = {}): Promise<number> {
  const { address, port } = place;
  const socket = new WebSocket(`wss://${address}:${port}${path}`, {
    ...optionsFor(place, headers),
    handshakeTimeout: PATIENCE,
  });
  return new Promise((resolve, reject) => {
    socket.on("open", () => {
      socket.close();
      resolve(101);
    });
    socket.on("unexpected-response", (request, response) => {
      response.resume();
      request.destroy();
      resolve(response.statusCode ?? 0);
    });
    socket.on("error", reject);
  });
}

function optionsFor({ address, port, ca }: Place, headers: Headers) {
  return {
    host: address,
    port,
    ca,
    servername: headers.host ?? HOST,
    headers: { host: HOST, ...headers },
    agent: false as const,
    timeout: PATIENCE,
  };
}
