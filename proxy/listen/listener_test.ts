import { Listener } from "./listener.ts";
import { until } from "../../tests/support/backend.ts";

/** Connects and resets, so many times. */
const RESETS = `
  import { connect } from "node:net";
  const [port, count] = Deno.args.map(Number);
  await Promise.all(Array.from({ length: count }, () => new Promise((done) => {
    const socket = connect(port, "127.0.0.1", () => socket.resetAndDestroy());
    socket.on("close", done);
  })));
`;

Deno.test("clients that close before they are accepted delay nobody", async () => {
  const accepted: string[] = [];
  const listener = new Listener({
    hostname: "127.0.0.1",
    port: 0,
    reusePort: false,
    admit: () => true,
    onConnection(transport, peer) {
      accepted.push(`${peer.address}:${peer.port}`);
      transport.close();
    },
    onAcceptError() {},
  });
  const { port } = listener.address;
  // Nothing is accepted meanwhile: this thread waits for the program's end. With the pause after a
  // failed accept, so many would take longer than `until` waits.
  const { success, stderr } = new Deno.Command(Deno.execPath(), {
    args: ["eval", RESETS, String(port), "400"],
  }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  using client = await Deno.connect({ hostname: "127.0.0.1", port });
  const { hostname, port: own } = client.localAddr;
  await until("the client that stays is accepted", () => accepted.includes(`${hostname}:${own}`));
  await listener.close();
});

Deno.test("a closed listener holds no socket of its port any more", async () => {
  const listener = new Listener({
    ...{ hostname: "127.0.0.1", port: 0, reusePort: true },
    ...{ admit: () => true, onConnection: () => {}, onAcceptError: () => {} },
  });
  listener.widen(4);
  const { hostname, port } = listener.address;
  await listener.close();
  // Without `reusePort` the system refuses it while any other socket listens.
  Deno.listen({ hostname, port }).close();
});
