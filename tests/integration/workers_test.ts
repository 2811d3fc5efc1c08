/** Several event loops on one port: all serve, all learn of changes, and one that fails is replaced. */
import assert from "node:assert/strict";
import { Lifecycle } from "../../shared/lifecycle.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { snapshotOf, stalls, startFleet, unheardHub } from "../support/fleet.ts";

function startBackend(text: string) {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => new Response(text));
}

/** One request on a connection of its own; "" where that is lost. */
async function ask(port: number): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  try {
    const request = "GET / HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n";
    await connection.write(new TextEncoder().encode(request));
    return (await new Response(connection.readable).text()).split("\r\n\r\n")[1] ?? "";
  } catch {
    return "";
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!await condition()) await new Promise((resume) => setTimeout(resume, 20));
}

Deno.test("workers share a port, and all of them apply a change", async () => {
  const [blue, green] = [startBackend("blue"), startBackend("green")];
  const fleet = startFleet(3);
  try {
    fleet.serve(snapshotOf(blue.addr.port), []);
    const { http } = await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    const { port } = http[0];
    // Thirty connections land on each of three workers but once in hundreds of thousands of runs.
    const before = await Promise.all(Array.from({ length: 30 }, () => ask(port)));
    assert.deepEqual(new Set(before), new Set(["blue"]));
    fleet.serve(snapshotOf(green.addr.port), []);
    await until(async () => {
      const after = await Promise.all(Array.from({ length: 30 }, () => ask(port)));
      assert.ok(after.every((text) => text === "blue" || text === "green"));
      return after.every((text) => text === "green");
    });
  } finally {
    fleet.close();
    await Promise.all([blue.shutdown(), green.shutdown()]);
  }
});

Deno.test("workers that throw are replaced, and the new ones serve the active snapshot", async () => {
  const [blue, green] = [startBackend("blue"), startBackend("green")];
  const fleet = startFleet(2);
  try {
    fleet.serve(snapshotOf(blue.addr.port), []);
    const { http } = await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    const { port } = http[0];
    assert.equal(await ask(port), "blue");
    fleet.serve(snapshotOf(green.addr.port, "throw"), []);
    await until(() => fleet.restarts === 2);
    await until(async () => {
      const after = await Promise.all(Array.from({ length: 20 }, () => ask(port).catch(() => "")));
      return after.every((text) => text === "green");
    });
  } finally {
    fleet.close();
    await Promise.all([blue.shutdown(), green.shutdown()]);
  }
});

Deno.test("all workers learn their zone, including replacements", async () => {
  const [near, far] = [startBackend("near"), startBackend("far")];
  const fleet = startFleet(2);
  const inZones = (epoch: string): Snapshot => {
    const snapshot = snapshotOf(near.addr.port, epoch);
    const endpoints = [[near, "a"], [far, "b"]] as const;
    return {
      ...snapshot,
      upstreams: [{
        ...snapshot.upstreams[0],
        addresses: {
          kind: "endpoints",
          endpoints: endpoints.map(([{ addr }, zone]) => ({
            address: "127.0.0.1",
            port: addr.port,
            hints: [zone],
          })),
        },
      }],
    };
  };
  try {
    fleet.serve(inZones("file"), []);
    const { http } = await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    const answers = async () => {
      const texts = await Promise.all(
        Array.from({ length: 30 }, () => ask(http[0].port).catch(() => "")),
      );
      return [...new Set(texts)].sort().join();
    };
    assert.equal(await answers(), "far,near");
    fleet.setZone("a");
    await until(async () => await answers() === "near");
    fleet.setZone("b");
    await until(async () => await answers() === "far");
    fleet.serve(inZones("throw"), []);
    await until(() => fleet.restarts === 2);
    await until(async () => await answers() === "far");
  } finally {
    fleet.close();
    await Promise.all([near.shutdown(), far.shutdown()]);
  }
});

Deno.test("a worker that runs out of heap ends the process, so that it is restarted", async () => {
  const script = new URL("../support/stuck_fleet.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--v8-flags=--max-old-space-size=48", script, "swell"],
    signal: AbortSignal.timeout(30_000),
  }).output();
  // Not 0, whatever it is, and by V8's own word rather than by the heartbeat's.
  assert.ok(code > 100, String(code));
  assert.match(new TextDecoder().decode(stderr), /out of memory/i);
  assert.equal(new TextDecoder().decode(stdout), "");
});

Deno.test("a drain ends even if a worker hangs", async () => {
  const script = new URL("../support/stuck_fleet.ts", import.meta.url).pathname;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script],
    signal: AbortSignal.timeout(20_000),
  }).output();
  assert.equal(new TextDecoder().decode(stdout), "drained\n");
});

Deno.test("a worker whose replacement fails to start is still replaced, and without any the proxy is not ready", async () => {
  const backend = startBackend("blue");
  const obstacles = new Map<string, string>();
  const onObstacle = (name: string, reason: string | null) => {
    if (reason === null) obstacles.delete(name);
    else obstacles.set(name, reason);
  };
  const fleet = startFleet(2, { onObstacle });
  try {
    fleet.serve(snapshotOf(backend.addr.port), []);
    const { http } = await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    assert.deepEqual([...obstacles], []);
    fleet.serve(snapshotOf(backend.addr.port, "fail"), []);
    await until(() => obstacles.size > 0 && fleet.restarts >= 4);
    assert.deepEqual([...obstacles], [["workers", "none of them listens"]]);
    fleet.serve(snapshotOf(backend.addr.port), []);
    await until(async () => await ask(http[0].port).catch(() => "") === "blue");
    await until(() => obstacles.size === 0);
  } finally {
    fleet.close();
    await backend.shutdown();
  }
});

Deno.test("a pause of the main thread does not count as a worker's silence", async () => {
  const hub = unheardHub();
  const fleet = startFleet(1, { hub });
  try {
    fleet.serve(snapshotOf(1), []);
    await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    // Longer than a worker may be silent.
    const end = performance.now() + 1_500;
    while (performance.now() < end);
    // Beats enough to notice what there is to notice.
    await new Promise((resume) => setTimeout(resume, 300));
    assert.equal(stalls(hub), 0);
  } finally {
    fleet.close();
  }
});

Deno.test("a port in use is reported with a line that says so", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0, reusePort: true });
  const fleet = startFleet(2);
  try {
    fleet.serve(snapshotOf(1), []);
    const { port } = taken.addr;
    await assert.rejects(
      fleet.listen({ http: [{ hostname: "127.0.0.1", port }], https: [] }),
      /Cannot listen on 127\.0\.0\.1:\d+ \(--listen-http\): another program has the port/,
    );
  } finally {
    fleet.close();
    taken.close();
  }
});

Deno.test("a drain completes the exchange in progress, then closes every worker's port", async () => {
  const answer = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const slow = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    begun.resolve();
    await answer.promise;
    return new Response("late");
  });
  const fleet = startFleet(2);
  try {
    fleet.serve(snapshotOf(slow.addr.port), []);
    const { http } = await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
    const { port } = http[0];
    const asked = ask(port);
    await begun.promise;
    const drained = fleet.drain({ delay: 0, timeout: 10_000 });
    await until(async () => {
      try {
        (await Deno.connect({ hostname: "127.0.0.1", port })).close();
        return false;
      } catch {
        return true;
      }
    });
    answer.resolve();
    assert.equal(await asked, "late");
    await drained;
  } finally {
    fleet.close();
    await slow.shutdown();
  }
});

Deno.test("a worker whose port has stopped accepting is an obstacle to readiness, until it accepts or is replaced", async () => {
  const lifecycle = new Lifecycle();
  lifecycle.enter("ready");
  const reason = () => {
    const readiness = lifecycle.readiness();
    return readiness.ready ? "" : readiness.reason;
  };
  const fleet = startFleet(2, {
    onObstacle: (name, reason) => {
      if (reason === null) lifecycle.clearObstacle(name);
      else lifecycle.setObstacle(name, reason);
    },
  });
  try {
    const backend = 1;
    fleet.serve(snapshotOf(backend), []);
    const anywhere = [{ hostname: "127.0.0.1", port: 0 }];
    const { https: [{ port }] } = await fleet.listen({ http: [], https: anywhere });
    const deaf = [0, 1].map((worker) =>
      `listener 127.0.0.1:${port} of worker ${worker}: the port does not answer`
    );
    const bothDeaf = () => reason().split("; ").sort().join("; ") === deaf.join("; ");
    fleet.serve(snapshotOf(backend, "deafen"), []);
    await until(bothDeaf);
    fleet.serve(snapshotOf(backend, "hear"), []);
    await until(() => reason() === "");
    fleet.serve(snapshotOf(backend, "deafen"), []);
    await until(bothDeaf);
    fleet.serve(snapshotOf(backend, "throw"), []);
    await until(() => reason() === "");
    assert.equal(fleet.restarts, 2);
  } finally {
    fleet.close();
  }
});
