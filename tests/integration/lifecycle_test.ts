/** The proxy as a process: how it ends, and that nobody has to read what it says. */
import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { Backend, Peer, refusingPort, signal, statusOf, until } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const FREE = ["--listen-http=127.0.0.1:0"];
const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

function start(backend: Backend, ...args: string[]): Promise<ProxyProcess> {
  return ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--allow-loopback-upstreams", ...args],
  });
}

/** The status of one request on a connection of its own. */
async function ask(port: number): Promise<number> {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(GET));
}

for (const workers of [1, 2]) {
  Deno.test(`SIGTERM with ${workers} workers: readiness fails, then accepting stops, then the process exits with 0`, async () => {
    const going = signal();
    await using backend = new Backend(async (peer) => {
      while (await peer.reader.head("request") !== null) {
        await going.promise;
        await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      }
    });
    const flags = [`--workers=${workers}`, "--drain-delay=1s", "--drain-timeout=20s"];
    await using proxy = await start(backend, ...flags);
    assert.equal((await proxy.admin("/readyz")).status, 200);
    using before = await Peer.connect(proxy.httpPort);
    await before.send(GET);
    await until("a request is under way", () => backend.open.size === 1);
    proxy.signal("SIGTERM");
    await proxy.line("Draining");
    assert.equal((await proxy.admin("/readyz")).status, 503);
    assert.equal((await proxy.admin("/healthz")).status, 200);
    using during = await Peer.connect(proxy.httpPort);
    await during.send(GET);
    await until("it is served", () => backend.open.size === 2);
    for (;;) {
      try {
        (await Peer.connect(proxy.httpPort)).close();
      } catch {
        break;
      }
      await new Promise((resume) => setTimeout(resume, 50));
    }
    assert.equal(proxy.code, null, "requests under way hold it");
    going.resolve();
    for (const client of [before, during]) {
      const answer = await client.answer();
      assert.equal(answer.body, "ok");
      assert.match(answer.head, /^connection: close\r$/im);
    }
    assert.equal(await proxy.ended, 0);
  });
}

Deno.test("a second SIGTERM exits at once", async () => {
  await using backend = new Backend(async (peer) => void await peer.ended());
  await using proxy = await start(backend, "--drain-delay=60s");
  using client = await Peer.connect(proxy.httpPort);
  await client.send(GET);
  await until("a request is under way", () => backend.open.size === 1);
  proxy.signal("SIGTERM");
  await proxy.line("Draining");
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 1);
  assert.notEqual(await client.ended(), "");
});

Deno.test("a log that nobody reads any more blocks nothing", async () => {
  await using backend = new Backend();
  await using proxy = await start(backend, "--log-level=debug");
  proxy.stopReading();
  for (let i = 0; i < 20; i++) {
    using junk = await Peer.connect(proxy.httpPort);
    assert.equal(statusOf(await junk.ask("junk\r\n\r\n")), 400);
    assert.equal(await ask(proxy.httpPort), 200);
  }
  assert.equal((await proxy.admin("/readyz")).status, 200);
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 0);
});

Deno.test("the proxy is ready only with an active snapshot and open listeners", async () => {
  await using backend = new Backend();
  const [admin, http] = [refusingPort(), refusingPort()];
  const flags = [`--admin=127.0.0.1:${admin}`, `--listen-http=127.0.0.1:${http}`, "--workers=2"];
  const starting = start(backend, ...flags);
  const statuses = new Set<number>();
  while (!statuses.has(200)) {
    try {
      const response = await fetch(`http://127.0.0.1:${admin}/readyz`);
      await response.body?.cancel();
      statuses.add(response.status);
    } catch {
      // Not even the admin port stands.
    }
    await new Promise((resume) => setTimeout(resume, 1));
  }
  assert.equal(await ask(http), 200);
  for (const status of statuses) assert.ok(status === 200 || status === 503, String(status));
  await using _proxy = await starting;
});

/**
 * Whether the process has asked for SIGTERM, which Deno itself does not: Linux tells. Deno has the kernel
 * catch a signal before it knows whom to call, and ends the process as by default in between. So SIGINT
 * is looked at too, for which the program asks next: SIGTERM is whole by then.
 */
function hearsSigterm(pid: number): boolean {
  // Until it runs a program of its own it is a copy of this process, handlers and all.
  if (!Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("proxy/main.ts")) return false;
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  const caught = BigInt(`0x${/^SigCgt:\s+(\w+)/m.exec(status)![1]}`);
  const both = 1n << 14n | 1n << 1n;
  return (caught & both) === both;
}

/**
 * CPU time of the main thread, in ms. Deno registers the handler with the kernel some microseconds before it can call
 * it: a signal between the two ends the process by its default action, and under load that time may be long.
 */
function cpuTime(pid: number): number {
  return Number(Deno.readTextFileSync(`/proc/${pid}/schedstat`).split(" ")[0]) / 1e6;
}

Deno.test({
  name: "SIGTERM at any moment of the start exits with 0",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const folder = await Deno.makeTempDir();
    const config = `${folder}/snapshot.json`;
    await Deno.writeTextFile(config, serialiseSnapshot(snapshotOf([1]), { revealKeys: true }));
    // In ms after that moment: code is loaded, threads start, ports are bound.
    for (const later of [0, 10, 30, 60, 100, 150, 250]) {
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-q", "-P=proxy", "--no-prompt", "proxy/main.ts", `--config=${config}`],
          ...[...FREE, "--admin=127.0.0.1:0", "--workers=2", "--drain-delay=0s"],
        ],
        cwd: new URL("../..", import.meta.url).pathname,
        stdout: "null",
        stderr: "null",
      }).spawn();
      await until("SIGTERM is heard", () => hearsSigterm(child.pid));
      const heardAt = cpuTime(child.pid);
      await until("the handler is in place", () => cpuTime(child.pid) > heardAt + 1);
      await new Promise((resume) => setTimeout(resume, later));
      child.kill("SIGTERM");
      const { code, signal } = await child.status;
      assert.deepEqual([code, signal], [0, null], `${later} ms later`);
    }
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test("SIGINT drains like SIGTERM, and a forwarded duplicate counts once", async () => {
  await using backend = new Backend();
  await using proxy = await start(backend);
  assert.equal(await ask(proxy.httpPort), 200);
  proxy.signal("SIGINT");
  proxy.signal("SIGINT");
  assert.equal(await proxy.ended, 0);
  await proxy.line("Stopped");
});

Deno.test("exit codes: 2 for an invalid command line, 1 for a failed start", async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const folder = await Deno.makeTempDir();
  const good = `${folder}/good.json`;
  const bad = `${folder}/bad.json`;
  const text = serialiseSnapshot(snapshotOf([1]), { revealKeys: true });
  await Deno.writeTextFile(good, text);
  await Deno.writeTextFile(bad, text.slice(0, -9));
  const port = `127.0.0.1:${taken.addr.port}`;
  try {
    for (
      const [args, expected, said] of [
        [["--help"], 0, /--config FILE/],
        [["--nonsense"], 2, /--nonsense/],
        [[], 2, /--config/],
        [
          [`--config=${folder}/none.json`],
          1,
          /^[^\n]*Configuration rejected[^\n]*it does not exist[^\n]*"remedy":[^\n]*\n$/,
        ],
        [[`--config=${bad}`], 1, /^[^\n]*Configuration rejected[^\n]*bad\.json[^\n]*\n$/],
        [[`--config=${good}`, `--admin=${port}`], 1, /Cannot listen on .* \(--admin\)/],
        [[`--config=${good}`, `--listen-http=${port}`, "--workers=1"], 1, /\(--listen-http\)/],
        [
          [`--config=${good}`, ...FREE, `--listen-https=${port}`, "--workers=2"],
          1,
          /\(--listen-https\)/,
        ],
      ] as const
    ) {
      const listens = args.some((arg) => arg.startsWith("--listen")) ? [] : FREE;
      const admin = args.some((arg) => arg.startsWith("--admin")) ? [] : ["--admin=127.0.0.1:0"];
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["task", "-q", "proxy", ...args, ...(args.length > 0 ? [...listens, ...admin] : [])],
        cwd: new URL("../..", import.meta.url).pathname,
        signal: AbortSignal.timeout(20_000),
      }).output();
      assert.equal(code, expected, args.join(" "));
      const decoder = new TextDecoder();
      assert.match(decoder.decode(stdout) + decoder.decode(stderr), said);
      // Nor does Deno warn of its own features there.
      if (expected === 0) assert.equal(decoder.decode(stderr), "");
    }
  } finally {
    taken.close();
    await Deno.remove(folder, { recursive: true });
  }
});
