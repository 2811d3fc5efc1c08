/**
 * Clients that are slow and honest, beside a load. In: a port of 127.0.0.1, and how many. Out: the
 * line `open` once all are connected, then, when standard input ends, a line of JSON, see
 * `TrickleReport`. Half of them send a head, a byte each second, and never come to its end; the
 * others ask for 1 MiB and read of it what a slow phone would. A proxy may cut them when its time
 * limits say so: they come back at once.
 */

export interface TrickleReport {
  /** Connections that were refused, or ended before any limit of time could say so. */
  readonly errors: number;
  /** Connections that the proxy has ended, by its limits of time. */
  readonly cut: number;
}

/** Of each client, in ms; the clients are spread over it. */
const TURN = 1000;

/** Parts of a turn in which some of the clients move. */
const PARTS = 20;

/** What a reader takes in each turn, in bytes. */
const SIP = 16 * 1024;

/** A proxy that ends a connection sooner has no patience at all, in ms. */
const SHORTEST = 3_000;

const [port, count] = Deno.args.map(Number);
let errors = 0;
let cut = 0;
let connected = 0;

class Client {
  readonly #head: Uint8Array<ArrayBuffer>;
  readonly #readsSlowly: boolean;
  readonly #buffer = new Uint8Array(SIP);
  #connection: Deno.TcpConn | null = null;
  #since = 0;
  #moving = false;

  constructor(readsSlowly: boolean) {
    this.#readsSlowly = readsSlowly;
    const head = readsSlowly
      ? `GET /1mib HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`
      : `GET /small HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Slow: `;
    this.#head = new TextEncoder().encode(head);
  }

  /** What it does in its part of a turn; nothing while the last one has not ended. */
  async move(): Promise<void> {
    if (this.#moving) return;
    this.#moving = true;
    try {
      if (this.#connection === null) await this.#open();
      else if (this.#readsSlowly) await this.#read(this.#connection);
      else await this.#connection.write(Uint8Array.of(97));
    } catch {
      this.#end();
    }
    this.#moving = false;
  }

  async #open(): Promise<void> {
    this.#since = performance.now();
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    this.#connection = connection;
    connected++;
    await connection.write(this.#head);
    if (!this.#readsSlowly) this.#watch(connection);
  }

  async #read(connection: Deno.TcpConn): Promise<void> {
    const length = await connection.read(this.#buffer);
    if (length !== null) return;
    // The answer is whole, or cut; in either case another one is asked for.
    this.#end();
  }

  /** An answer to a head without an end is the proxy's way of ending it. */
  async #watch(connection: Deno.TcpConn): Promise<void> {
    await connection.read(this.#buffer).catch(() => {});
    if (this.#connection === connection) this.#end();
  }

  /** It comes back in its next turn. */
  #end(): void {
    if (performance.now() - this.#since < SHORTEST) errors++;
    else cut++;
    if (this.#connection === null) return;
    connected--;
    this.#connection.close();
    this.#connection = null;
  }
}

const clients = Array.from({ length: count }, (_, index) => new Client(index % 2 === 0));
const stopped = Deno.stdin.read(new Uint8Array(1));
let over = false;
stopped.then(() => over = true);
let saidOpen = false;
const due = performance.now();
for (let part = 0; !over; part++) {
  const from = Math.floor(count * (part % PARTS) / PARTS);
  const to = Math.floor(count * (part % PARTS + 1) / PARTS);
  for (const client of clients.slice(from, to)) client.move();
  const wait = due + (part + 1) * TURN / PARTS - performance.now();
  await Promise.race([stopped, new Promise((resume) => setTimeout(resume, Math.max(0, wait)))]);
  if (!saidOpen && connected === count) {
    saidOpen = true;
    console.log("open");
  }
}
const report: TrickleReport = { errors, cut };
console.log(JSON.stringify(report));
Deno.exit(0);
