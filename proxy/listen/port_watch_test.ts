import assert from "node:assert/strict";
import { until } from "../../tests/support/backend.ts";
import { SelfProbes } from "./self_probes.ts";
import { PortWatch } from "./port_watch.ts";

/** A host whose loopback has no address of IPv6, as in pods of a cluster of IPv4. */
class Ipv4Loopback {
  readonly #connect = Deno.connect;
  readonly dialled: string[] = [];

  constructor() {
    Deno.connect = ((options: Deno.ConnectOptions) => {
      this.dialled.push(options.hostname ?? "");
      return options.hostname === "::"
        ? Promise.reject(new Deno.errors.AddrNotAvailable("Cannot assign requested address"))
        : this.#connect(options);
    }) as typeof Deno.connect;
  }

  [Symbol.dispose](): void {
    Deno.connect = this.#connect;
  }
}

/** Settles with the first thing that is known of a port on all addresses that `answers`, or not. */
async function watched(answers: boolean): Promise<{ deaf: boolean; dialled: readonly string[] }> {
  using host = new Ipv4Loopback();
  const listener = Deno.listen({ hostname: "0.0.0.0", port: 0 });
  const settled = Promise.withResolvers<boolean>();
  const serving = answers
    ? listener.accept().then(async (connection) => {
      await connection.read(new Uint8Array(1));
      connection.close();
      settled.resolve(false);
    })
    : null;
  const watch = new PortWatch({
    address: { hostname: "::", port: listener.addr.port },
    shared: false,
    ownCalls: new SelfProbes(),
    accepted: () => 0,
    onDeaf: () => {
      settled.resolve(true);
      return Promise.resolve();
    },
    onExhausted: () => {},
  });
  const deaf = await settled.promise;
  watch.close();
  await serving;
  listener.close();
  return { deaf, dialled: host.dialled };
}

Deno.test("a shared port is not reported as stuck while another worker is silent, and then it may be", async () => {
  const cells = SelfProbes.cellsFor(2);
  SelfProbes.setSilent(cells, 1);
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let looks = 0;
  let isForeign = true;
  const deaf = Promise.withResolvers<boolean>();
  const watch = new PortWatch({
    address: listener.addr,
    shared: true,
    ownCalls: new SelfProbes(cells, 0),
    accepted: () => {
      // Twice or three times a look.
      if (++looks === 6) {
        isForeign = false;
        SelfProbes.setSilent(cells, 0);
      }
      return 0;
    },
    onDeaf: () => {
      deaf.resolve(isForeign);
      return Promise.resolve();
    },
    onExhausted: () => {},
  });
  assert.equal(await deaf.promise, false);
  watch.close();
  listener.close();
});

Deno.test("a shared port that accepts again at the next probe is not reported as stuck", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let asked = 0;
  let deaf = false;
  const watch = new PortWatch({
    address: listener.addr,
    shared: true,
    ownCalls: new SelfProbes(),
    // Nothing in the first look, something in each one later.
    accepted: () => ++asked <= 3 ? 0 : asked,
    onDeaf: () => {
      deaf = true;
      return Promise.resolve();
    },
    onExhausted: () => {},
  });
  await until("a few looks", () => asked >= 8);
  watch.close();
  listener.close();
  assert.equal(deaf, false);
});

for (const answers of [true, false]) {
  Deno.test(`without ::1 a port on [::] is probed on IPv4, and ${answers ? "accepts" : "is reported as stuck"}`, async () => {
    const { deaf, dialled } = await watched(answers);
    assert.equal(deaf, !answers);
    assert.deepEqual(dialled.slice(0, 2), ["::", "0.0.0.0"]);
  });
}
