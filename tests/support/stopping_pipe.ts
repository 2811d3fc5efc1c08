/**
 * A reader that stops: a pipe in front of a server whose way back carries some bytes and then waits.
 * In: the server's port. Out: a port that leads there, and a way to let it go on. A reader that is
 * stopped from outside when something has come may find that all has.
 */
import net from "node:net";

export interface StoppingPipe extends AsyncDisposable {
  readonly port: number;
  /** Lets everything through from now on. */
  resume(): void;
}

/** @param after Bytes that come back before it stops, of each connection. */
export async function stoppingPipe(port: number, after: number): Promise<StoppingPipe> {
  const gate = Promise.withResolvers<void>();
  const ends: (() => void)[] = [];
  const server = net.createServer(async (near) => {
    const far = await Deno.connect({ hostname: "127.0.0.1", port });
    ends.push(() => {
      near.destroy();
      try {
        far.close();
      } catch {
        // Closed by its own end.
      }
    });
    near.on("error", () => {});
    near.on("data", (chunk: Uint8Array) => void far.write(new Uint8Array(chunk)).catch(() => {}));
    const buffer = new Uint8Array(16_384);
    for (let bytes = 0;;) {
      const count = await far.read(buffer).catch(() => null);
      if (count === null) return void near.destroy();
      bytes += count;
      near.write(buffer.slice(0, count));
      if (bytes >= after) await gate.promise;
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as net.AddressInfo).port,
    resume: () => gate.resolve(),
    async [Symbol.asyncDispose]() {
      gate.resolve();
      for (const end of ends) end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
