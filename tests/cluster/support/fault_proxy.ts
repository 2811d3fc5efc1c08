/**
 * A bad network. In: a port of loopback. Out: another port that leads there, and ways to break the
 * connections through it: reset, close, refuse, silence, delay and forget. It knows bytes only, so TLS goes
 * through: the API server's certificate is good for 127.0.0.1 at any port.
 */
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Listens on a free port of 127.0.0.1 and leads to `targetPort` there. */
export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.listen();
  return proxy;
}

/** One such port. Faults touch nothing that other proxies to the same target carry. */
export class FaultProxy {
  /** Connections that clients have opened since the start, refused ones among them. */
  accepted = 0;
  /** Those of them that were refused. */
  refused = 0;
  readonly #target: number;
  readonly #server: net.Server;
  readonly #pairs = new Set<readonly [net.Socket, net.Socket]>();
  readonly #forgotten = new WeakSet<readonly [net.Socket, net.Socket]>();
  readonly #closing = new AbortController();
  #isRefusing = false;
  #delay = 0;
  /** Settles when bytes may pass. */
  #gate: Promise<void> = Promise.resolve();
  #openGate: (() => void) | null = null;

  constructor(targetPort: number) {
    this.#target = targetPort;
    this.#server = net.createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  /** `https://127.0.0.1:PORT`, for a kubeconfig. */
  get server(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** How many are open now. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Resets (RST) every open connection, on both sides. */
  reset(): void {
    for (const pair of [...this.#pairs]) this.#end(pair, "reset");
  }

  /** Closes (FIN) every open connection, on both sides. */
  cut(): void {
    for (const pair of [...this.#pairs]) this.#end(pair, "close");
  }

  /** Resets new connections at once; open ones stay. */
  refuse(isRefusing: boolean): void {
    this.#isRefusing = isRefusing;
  }

  /**
   * Passes nothing, neither bytes nor ends, and keeps all connections: each side sees a peer that is
   * silent. What was sent meanwhile passes when it is over.
   */
  stall(isStalled: boolean): void {
    if (isStalled && this.#openGate === null) {
      this.#gate = new Promise((resolve) => this.#openGate = resolve);
    } else if (!isStalled) {
      this.#openGate?.();
      this.#openGate = null;
    }
  }

  /**
   * Forgets every open connection, as a firewall does that was restarted: nothing passes there any
   * more, and nobody is told. New ones are good.
   */
  forget(): void {
    for (const pair of this.#pairs) this.#forgotten.add(pair);
  }

  /** Holds each read of bytes for so many ms, one after another in each direction. */
  delay(ms: number): void {
    this.#delay = ms;
  }

  /** Resets what is open and stops listening. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#isRefusing = true;
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(client: net.Socket): void {
    this.accepted++;
    if (this.#isRefusing) {
      this.refused++;
      client.on("error", () => {});
      client.resetAndDestroy();
      return;
    }
    const target = net.connect({ host: "127.0.0.1", port: this.#target, allowHalfOpen: true });
    const pair = [client, target] as const;
    this.#pairs.add(pair);
    this.#carry(pair, client, target);
    this.#carry(pair, target, client);
  }

  /** One direction of a connection. */
  #carry(pair: readonly [net.Socket, net.Socket], from: net.Socket, to: net.Socket): void {
    let isWhole = true;
    from.setNoDelay(true);
    from.on("data", async (bytes: Uint8Array) => {
      from.pause();
      // Left unread, so that whoever goes on sending meets a full window.
      if (this.#forgotten.has(pair)) return;
      if (await this.#pass() && !to.destroyed && !to.write(bytes)) {
        await Promise.race([once(to, "drain"), once(to, "close")]).catch(() => {});
      }
      from.resume();
    });
    from.on("end", async () => {
      if (await this.#pass() && !this.#forgotten.has(pair)) to.end();
    });
    from.on("error", () => isWhole = false);
    from.on("close", async () => {
      if (await this.#pass()) this.#end(pair, isWhole ? "close" : "reset");
    });
  }

  /** Waits until bytes may pass; `false` when the proxy has closed meanwhile. */
  async #pass(): Promise<boolean> {
    await this.#gate;
    const signal = this.#closing.signal;
    if (this.#delay > 0) await sleep(this.#delay, undefined, { signal }).catch(() => {});
    return !signal.aborted;
  }

  #end(pair: readonly [net.Socket, net.Socket], how: "reset" | "close"): void {
    if (!this.#pairs.delete(pair)) return;
    for (const socket of pair) {
      if (socket.destroyed) continue;
      if (how === "reset") socket.resetAndDestroy();
      else socket.destroySoon();
    }
  }
}
