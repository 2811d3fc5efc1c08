/**
 * An endpoint that takes no connection. In: nothing. Out: a port of loopback where a connection is neither made
 * nor refused, as behind a network that drops packets: what waits to be accepted there is full.
 */

export class DeafEndpoint {
  readonly #listener: Deno.TcpListener;
  readonly #waiting: readonly Deno.TcpConn[];

  private constructor(listener: Deno.TcpListener, waiting: readonly Deno.TcpConn[]) {
    this.#listener = listener;
    this.#waiting = waiting;
  }

  static async listen(): Promise<DeafEndpoint> {
    const tcpBacklog = 1;
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0, tcpBacklog });
    const { port } = listener.addr;
    // Linux takes one more than it is told to.
    const waiting = await Promise.all(
      Array.from(
        { length: tcpBacklog + 1 },
        () => Deno.connect({ hostname: "127.0.0.1", port }),
      ),
    );
    return new DeafEndpoint(listener, waiting);
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  [Symbol.dispose](): void {
    for (const connection of this.#waiting) connection.close();
    this.#listener.close();
  }
}
