/**
 * A listener whose connections a test plays. In: what a connection is to be played by, and the play.
 * Out: a port, the connections under way, and how many there were.
 */

/** One end of a connection; disposed of when its play is over. */
export type PlayedPeer = (Disposable | AsyncDisposable) & { close(): void };

export class PlayedBackend<P extends PlayedPeer> {
  /** Connections so far. */
  accepted = 0;
  readonly open = new Set<P>();
  readonly #listener: Deno.TcpListener;
  readonly #meet: (connection: Deno.TcpConn) => P | Promise<P>;
  readonly #play: (peer: P, index: number) => Promise<void>;
  readonly #running: Promise<void>;

  /** @param play gets the `index`th connection (from 0), which is closed when that settles. */
  constructor(
    listener: Deno.TcpListener,
    meet: (connection: Deno.TcpConn) => P | Promise<P>,
    play: (peer: P, index: number) => Promise<void>,
  ) {
    this.#listener = listener;
    this.#meet = meet;
    this.#play = play;
    this.#running = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const peer of this.open) peer.close();
    await this.#running;
  }

  async #accept(): Promise<void> {
    const playing: Promise<void>[] = [];
    try {
      for (;;) playing.push(this.#serve(await this.#listener.accept(), this.accepted++));
    } catch {
      // Closed.
    }
    await Promise.all(playing);
  }

  async #serve(connection: Deno.TcpConn, index: number): Promise<void> {
    await using peer = await this.#meet(connection);
    this.open.add(peer);
    try {
      await this.#play(peer, index);
    } finally {
      this.open.delete(peer);
    }
  }
}
