/**
 * A client outside of the cluster. In: the address of a node and a host's name. Out: answers over
 * HTTP, HTTPS, WebSockets and gRPC, each by a connection of its own.
 */
import { type IncomingMessage, request as overHttp } from "node:http";
import { request as overHttps } from "node:https";
import type { TLSSocket } from "node:tls";
import { WebSocket } from "ws";
import { type Http2Answer, Http2Client } from "../../support/http2_client.ts";

/** What has not been answered after this, in ms, will not be. */
const PATIENCE = 10_000;

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Of the server's certificate, in hex; null over HTTP. */
  readonly serial: string | null;
}

export interface VisitOptions {
  /** Certificates in PEM that may sign the server's. HTTPS where it is there. */
  readonly ca?: string;
}

export class Visitor {
  readonly address: string;

  constructor(address: string) {
    this.address = address;
  }

  /** `url` is without a scheme: `app.example.com/path`. Rejects where there is no answer. */
  get(url: string, { ca }: VisitOptions = {}): Promise<Answer> {
    const { hostname, pathname, search } = new URL(`http://${url}`);
    const options = {
      host: this.address,
      path: `${pathname}${search}`,
      headers: { host: hostname },
      agent: false as const,
      timeout: PATIENCE,
    };
    return new Promise((resolve, reject) => {
      const take = (response: IncomingMessage) => {
        const serial = ca === undefined
          ? null
          : (response.socket as TLSSocket).getPeerCertificate().serialNumber;
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (part) => body += part);
        response.on("end", () => resolve({ status: response.statusCode!, body, serial }));
        response.on("error", reject);
      };
      const request = ca === undefined
        ? overHttp(options, take)
        : overHttps({ ...options, ca, servername: hostname }, take);
      request.on("timeout", () => request.destroy(new Error(`${url} has not answered`)));
      request.on("error", reject);
      request.end();
    });
  }

  /** What a call of gRPC gets that sends one message, in HTTP/2 by prior knowledge or over TLS. */
  async call(url: string, message: string, { ca }: VisitOptions = {}): Promise<Http2Answer> {
    const { hostname: host, pathname } = new URL(`http://${url}`);
    using client = await Http2Client.connect(ca === undefined ? 80 : 443, {
      address: this.address,
      host,
      ...(ca === undefined ? {} : { ca }),
    });
    const call = client.call(pathname);
    call.end(message);
    return await call.answer;
  }

  /** What a WebSocket answers to one message. */
  echo(url: string, message: string, { ca }: VisitOptions = {}): Promise<string> {
    const { hostname, pathname } = new URL(`http://${url}`);
    const scheme = ca === undefined ? "ws" : "wss";
    const socket = new WebSocket(`${scheme}://${this.address}${pathname}`, {
      headers: { host: hostname },
      handshakeTimeout: PATIENCE,
      ...(ca === undefined ? {} : { ca, servername: hostname }),
    });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => socket.terminate(), PATIENCE);
      let answer: string | null = null;
      socket.on("open", () => socket.send(message));
      socket.on("message", (data) => {
        answer = String(data);
        socket.close(1000);
      });
      socket.on("error", reject);
      socket.on("close", () => {
        clearTimeout(timer);
        if (answer === null) reject(new Error(`${url} has not answered`));
        else resolve(answer);
      });
    });
  }
}
