/**
 * TLS connections that are cut into random pieces, damaged, stalled and broken off, in any state of
 * the handshake and after it. In: a seed. Out: those that are left whole are served, and of the others
 * nothing stays.
 */
import assert from "node:assert/strict";
import type { Limits } from "../../proxy/http/limits.ts";
import { Random } from "../fuzz/random.ts";
import { Backend, until } from "../support/backend.ts";
import { certificateFor, TlsClient, TlsProxy } from "../support/tls_proxy.ts";

const CONNECTIONS = 160;
/** At a time. */
const BATCH = 16;
/** A handshake comes to less than this each way, in bytes; what is beyond is damage to the request. */
const FLIGHT = 1_200;
const DAMAGES = ["none", "flip", "insert", "cut", "finish", "stall"] as const;
const GET = "GET / HTTP/1.1\r\nHost: a.test";

interface Damage {
  readonly kind: typeof DAMAGES[number];
  /** After so many bytes. */
  readonly at: number;
  readonly fromProxy: boolean;
}

/** Between one client and the proxy: passes bytes on in random pieces, and damages them once. */
class DamagingRelay {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #random: Random;
  readonly #damage: Damage;
  #connections: Deno.TcpConn[] = [];
  #isClosed = false;
  readonly #over: Promise<unknown>;

  constructor(port: number, random: Random, damage: Damage) {
    this.#random = random;
    this.#damage = damage;
    this.#over = this.#run(port);
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  /** Breaks off what is left. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#break();
    await this.#over;
  }

  async #run(port: number): Promise<void> {
    const client = await this.#listener.accept();
    this.#listener.close();
    const proxy = await Deno.connect({ hostname: "127.0.0.1", port });
    this.#connections = [client, proxy];
    if (this.#isClosed) return this.#break();
    await Promise.all([
      this.#pass(client, proxy, !this.#damage.fromProxy),
      this.#pass(proxy, client, this.#damage.fromProxy),
    ]);
    this.#break();
  }

  async #pass(from: Deno.TcpConn, to: Deno.TcpConn, damages: boolean): Promise<void> {
    const buffer = new Uint8Array(16_384);
    let passed = 0;
    try {
      for (let size; (size = await from.read(buffer)) !== null;) {
        for (let at = 0; at < size;) {
          const end = Math.min(
            size,
            at + 1 + this.#random.below(this.#random.pick([2, 60, 2_000])),
          );
          const piece = buffer.slice(at, end);
          if (damages && passed <= this.#damage.at && this.#damage.at < passed + piece.length) {
            if (await this.#damaged(piece, this.#damage.at - passed, to)) {
              // Nothing more passes, until one of the two gives up.
              while (await from.read(buffer) !== null);
              return this.#break();
            }
          }
          await write(to, piece);
          passed += piece.length;
          at = end;
        }
      }
      await to.closeWrite();
    } catch {
      // One end has gone: so does the other.
      this.#break();
    }
  }

  /** True where nothing more passes this way. */
  async #damaged(piece: Uint8Array, at: number, to: Deno.TcpConn): Promise<boolean> {
    const random = this.#random;
    const { kind } = this.#damage;
    if (kind === "flip") piece[at] ^= 1 << random.below(8);
    else if (kind === "insert") {
      await write(to, Uint8Array.from({ length: random.between(1, 300) }, () => random.below(256)));
    } else if (kind === "cut") this.#break();
    else if (kind === "finish") {
      await write(to, piece.subarray(0, at));
      await to.closeWrite();
    }
    return kind === "cut" || kind === "finish" || kind === "stall";
  }

  #break(): void {
    for (const connection of this.#connections.splice(0)) connection.close();
  }
}

async function write(to: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

/**
 * One connection through a relay: the status that its client has got, or what came in place of it. Where a flight
 * does not come, `end` ends the wait, or else the proxy's deadline.
 */
async function visit(
  port: number,
  random: Random,
  damage: Damage,
  end?: Promise<unknown>,
): Promise<string> {
  const relay = new DamagingRelay(port, random, damage);
  const version = random.pick(["TLSv1.2", "TLSv1.3"] as const);
  end?.then(() => relay.close());
  try {
    using client = await TlsClient.connect(relay.port, { version });
    client.socket.on("error", () => {});
    return (await client.ask(GET)).slice(0, 12);
  } catch (error) {
    return String(error);
  } finally {
    await relay.close();
  }
}

/** Open sockets of this process; null where the system does not tell. */
function openSockets(): number | null {
  try {
    return [...Deno.readDirSync("/proc/self/fd")].filter(({ name }) => {
      try {
        return Deno.readLinkSync(`/proc/self/fd/${name}`).startsWith("socket:");
      } catch {
        return false;
      }
    }).length;
  } catch {
    return null;
  }
}

Deno.test("TLS connections that are damaged anywhere leave nothing behind, and others are served", async () => {
  const seed = Date.now() >>> 0;
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  await using backend = new Backend();
  const certificates = [await certificateFor("a", { names: ["a.test"] })];
  const start = (limits: Partial<Limits>) =>
    TlsProxy.start({ certificates, endpoints: [backend.port], limits });
  const upstreamIdleTimeout = 500;
  using patient = await start({ upstreamIdleTimeout });
  // Connections that nobody damages may take longer than its deadlines.
  using strict = await start({
    ...{ handshakeTimeout: 500, requestHeadTimeout: 500, clientIdleTimeout: 500 },
    upstreamIdleTimeout,
  });
  const proxies = [patient, strict];
  const before = openSockets();
  for (let i = 0; i < CONNECTIONS; i += BATCH) {
    const { promise: served, resolve: end } = Promise.withResolvers<void>();
    const whole: Promise<void>[] = [];
    const damaged: Promise<string>[] = [];
    for (let n = 0; n < BATCH; n++) {
      const kind = n === 0 ? "none" : random.pick(DAMAGES);
      const damage = { kind, at: random.below(FLIGHT), fromProxy: random.oneIn(3) };
      if (kind === "none") {
        whole.push(
          visit(patient.port, random.fork(), damage).then((got) => {
            assert.equal(got, "HTTP/1.1 200", JSON.stringify(damage));
          }),
        );
      } else if (random.oneIn(2)) damaged.push(visit(strict.port, random.fork(), damage));
      else damaged.push(visit(patient.port, random.fork(), damage, served));
    }
    await Promise.all(whole).finally(end);
    await Promise.all(damaged);
  }
  for (const { server } of proxies) {
    await until(
      "no connection is left",
      () => server.connectionCount === 0 && server.idleUpstreamCount === 0,
    );
  }
  if (before !== null) {
    await until("no socket is left", () => openSockets()! <= before);
  }
  const errors = proxies.flatMap(({ lines }) => lines.filter(({ level }) => level === "error"));
  assert.deepEqual(errors, []);
});
