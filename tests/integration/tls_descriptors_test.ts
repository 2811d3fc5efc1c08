/** Running out of file descriptors costs those who come too many, and nobody else. */
import assert from "node:assert/strict";
import tls from "node:tls";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { until } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const CLIENTS = 400;
const hasPrlimit = await works("prlimit", "--version");
if (!hasPrlimit) console.log("skipped: descriptors; install util-linux, for prlimit");

async function works(program: string, ...args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output())
      .success;
  } catch {
    return false;
  }
}

/** A client that asks once and stays; who is not let in comes again. */
class Client {
  answered = false;
  #closed = false;
  #socket: tls.TLSSocket | null = null;
  #connection: Deno.TcpConn | null = null;

  constructor(port: number, ca: string | null) {
    this.#come(port, ca);
  }

  async #come(port: number, ca: string | null): Promise<void> {
    while (!this.#closed && !this.answered) {
      await (ca === null ? this.#ask(port) : this.#askSecurely(port, ca));
      await new Promise((resume) => setTimeout(resume, AGAIN));
    }
  }

  #askSecurely(port: number, ca: string): Promise<void> {
    return new Promise((resolve) => {
      const socket = tls.connect({ host: "127.0.0.1", port, ca, servername: "a.test" });
      this.#socket = socket;
      socket.on("secureConnect", () => socket.write(REQUEST));
      socket.on("data", (part) => this.#heard(part.toString("latin1")));
      socket.on("error", () => {});
      socket.on("close", () => resolve());
    });
  }

  close(): void {
    this.#closed = true;
    this.#socket?.destroy();
    try {
      this.#connection?.close();
    } catch {
      // The proxy ended it before.
    }
  }

  async #ask(port: number): Promise<void> {
    try {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      this.#connection = connection;
      await connection.write(new TextEncoder().encode(REQUEST));
      const buffer = new Uint8Array(4096);
      for (;;) {
        const count = await connection.read(buffer);
        if (count === null) break;
        this.#heard(new TextDecoder().decode(buffer.subarray(0, count)));
      }
    } catch {
      // Not let in, or not for long.
    }
  }

  #heard(text: string): void {
    if (text.startsWith("HTTP/1.1 200 ")) this.answered = true;
  }
}

/** After so long, in ms. */
const AGAIN = 100;

/**
 * How long is waited for, in ms: each round lets in as many as there are descriptors for, and on a
 * machine that is busy with other tests a round of handshakes takes seconds.
 */
const RECOVERY = 60_000;

const REQUEST = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

for (const scheme of ["http", "https"] as const) {
  Deno.test({
    name: `${CLIENTS} clients of ${scheme} at 256 descriptors affect only themselves`,
    ignore: !hasPrlimit,
    // Each client is a socket of this process, closed by whichever side is first.
    sanitizeResources: false,
    sanitizeOps: false,
    async fn() {
      const backend = Deno.serve({ port: 0, onListen() {} }, () => new Response("ok"));
      const authority = await CertificateAuthority.create("Test");
      const { chain, key } = await authority.issue({ names: ["a.test"] });
      const plain = snapshotOf([(backend.addr as Deno.NetAddr).port]);
      const snapshot: Snapshot = scheme === "http" ? plain : {
        ...plain,
        certificates: [{
          id: "a",
          hosts: ["a.test"],
          chain: { kind: "pem", pem: chain },
          key: { kind: "secret", pem: key },
          origin: { kind: "Secret", namespace: "test", name: "a", field: "data" },
        }],
      };
      const ca = scheme === "http" ? null : authority.certificate;
      await using proxy = await ProxyProcess.start({
        snapshot,
        args: ["--workers=1", "--allow-loopback-upstreams"],
        wrapper: ["prlimit", "--nofile=256"],
      });
      const port = scheme === "http" ? proxy.httpPort : proxy.httpsPort;
      const clients = Array.from({ length: CLIENTS }, () => new Client(port, ca));
      await until(
        `100 of ${CLIENTS} clients are served`,
        () => clients.filter(({ answered }) => answered).length >= 100,
        RECOVERY,
      );
      const start = performance.now();
      for (const client of clients) client.close();
      const later = new Client(port, ca);
      await until("a client that comes after the rush is served", () => later.answered, RECOVERY);
      later.close();
      console.log(`normal again after ${Math.round(performance.now() - start)} ms`);
      const ready = await fetch(`http://127.0.0.1:${proxy.adminPort}/readyz`);
      assert.equal(ready.status, 200, await ready.text());
      assert.equal(proxy.code, null);
      const said = new Set(proxy.lines.map(({ message }) => message));
      assert.ok(said.has("Out of file descriptors"), "the limit was met");
      await backend.shutdown();
    },
  });
}
