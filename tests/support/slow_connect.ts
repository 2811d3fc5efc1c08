/**
 * Connections that are made late. In: a port of loopback. Out: whoever dials it is connected only
 * once the test lets them, as with a network that loses the first packets.
 */

export class SlowConnect {
  /** How many are dialling, or have been. */
  dialled = 0;
  readonly #connect = Deno.connect;
  readonly #opened = Promise.withResolvers<void>();

  constructor(port: number) {
    const slow = async (options: Deno.ConnectOptions): Promise<Deno.TcpConn> => {
      if (options.port === port) {
        this.dialled++;
        await this.#opened.promise;
      }
      return await this.#connect(options);
    };
    Deno.connect = slow as typeof Deno.connect;
  }

  /** Connects who waits, and who comes. */
  open(): void {
    this.#opened.resolve();
  }

  [Symbol.dispose](): void {
    Deno.connect = this.#connect;
    this.open();
  }
}
