/**
 * A backend that speaks TLS. In: its certificate, and what it demands of clients. Out: a port on
 * loopback whose answers say which name was asked for, whether a certificate was shown that it knows,
 * and the protocol agreed on: `web.default.svc known http/1.1`.
 */
import net from "node:net";
import tls from "node:tls";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";

export class TlsBackend {
  connections = 0;
  readonly #server: tls.Server;
  readonly #sockets = new Set<net.Socket>();

  private constructor(certificate: ServerCertificate, options: tls.TlsOptions) {
    const { chain, key } = certificate;
    this.#server = tls.createServer({
      cert: chain,
      key: key.reveal(),
      ALPNProtocols: ["http/1.1"],
      ...options,
    }, (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("data", () => {
        const { servername } = socket as { servername?: string | false };
        // Deno's `authorized` is true where no certificate was asked for.
        const isKnown = socket.authorized && socket.getPeerX509Certificate() !== undefined;
        const body = `${servername || "-"} ${isKnown ? "known" : "unknown"} ` +
          `${socket.alpnProtocol || "-"}`;
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      });
    });
    this.#server.on("tlsClientError", (_error, socket) => socket.destroy());
  }

  /** @param port where one was before; a free one by default. */
  static async start(certificate: ServerCertificate, options: tls.TlsOptions = {}, port = 0) {
    const backend = new TlsBackend(certificate, options);
    await new Promise<void>((resolve) => backend.#server.listen(port, "127.0.0.1", resolve));
    return backend;
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
