/** Bytes through HTTPS: either side may stall, end its half, or switch to a WebSocket. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Backend, Peer, reply, signal, until } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { authority, certificateFor, TlsClient, TlsProxy } from "../support/tls_proxy.ts";

const encoder = new TextEncoder();

const MIB = 1024 * 1024;

/** Offered to a peer that does not read; PINGRESS_FULL=1 makes it what the figures to hold say. */
const OFFERED = (Deno.env.get("PINGRESS_FULL") === "1" ? 256 : 64) * MIB;

/** What the proxy's memory may grow by meanwhile. */
const GROWTH = 16 * MIB;

const CERTIFICATE = await certificateFor("a", { names: ["a.test"] });

async function startProcess(backendPort: number): Promise<ProxyProcess> {
  const { id, hosts, chain, key } = CERTIFICATE;
  return await ProxyProcess.start({
    snapshot: {
      ...snapshotOf([backendPort]),
      certificates: [{
        id,
        hosts,
        chain: { kind: "pem", pem: chain },
        key: { kind: "secret", pem: key },
        origin: { kind: "Secret", namespace: "test", name: "a", field: "data" },
      }],
    },
    args: ["--workers=1", "--allow-loopback-upstreams"],
  });
}

/** Sends blocks until nothing has been taken for a while, or everything has; the bytes taken. */
async function offer(send: (block: Uint8Array) => Promise<unknown>): Promise<number> {
  const block = new Uint8Array(64 * 1024);
  let taken = 0;
  const running = (async () => {
    try {
      while (taken < OFFERED) {
        await send(block);
        taken += block.length;
      }
    } catch {
      // The test has ended it.
    }
  })();
  for (let before = -1; before !== taken && taken < OFFERED;) {
    before = taken;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pause = new Promise<void>((resume) => timer = setTimeout(resume, 1000));
    await Promise.race([running, pause]);
    clearTimeout(timer);
  }
  return taken;
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

Deno.test("a backend that does not read pauses its client", async () => {
  const done = signal();
  await using backend = new Backend(async (peer) => {
    // Its head, and a bit of its body, is all that is read.
    await peer.read();
    await done.promise;
  });
  await using proxy = await startProcess(backend.port);
  using client = await TlsClient.connect(proxy.httpsPort);
  const before = await proxy.memory();
  const write = (data: string | Uint8Array) =>
    new Promise<void>((resolve, reject) =>
      client.socket.write(data, (error) => error ? reject(error) : resolve())
    );
  client.socket.on("error", () => {});
  await write(`PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${OFFERED}\r\n\r\n`);
  const taken = await offer(write);
  const growth = await proxy.memory() - before;
  console.log(`${mib(taken)} of ${mib(OFFERED)} taken, memory grew by ${mib(growth)}`);
  done.resolve();
  assert.ok(taken < 48 * MIB, `the client is held back, after ${mib(taken)}`);
  assert.ok(growth <= GROWTH, `memory grew by ${mib(growth)}`);
});

Deno.test("a client that does not read pauses its backend", async () => {
  const result = signal<number>();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${OFFERED}\r\n\r\n`);
    result.resolve(
      await offer(async (block) => {
        if (!await peer.send(block)) throw new Error("ended");
      }),
    );
  });
  await using proxy = await startProcess(backend.port);
  const before = await proxy.memory();
  using client = await connectStrictly(proxy.httpsPort);
  await client.write(encoder.encode("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"));
  const taken = await result.promise;
  const growth = await proxy.memory() - before;
  console.log(`${mib(taken)} of ${mib(OFFERED)} taken, memory grew by ${mib(growth)}`);
  assert.ok(taken < 48 * MIB, `the backend is held back, after ${mib(taken)}`);
  assert.ok(growth <= GROWTH, `memory grew by ${mib(growth)}`);
});

Deno.test("paused data arrives completely when reading continues", async () => {
  // More than any kernel takes on the way, with buffers that grow to several MiB on each side.
  const size = 32 * MIB;
  const body = Buffer.from(new Uint8Array(size).map((_, i) => (i * 7 + (i >> 8)) & 0xff));
  const resume = signal();
  await using backend = new Backend(async (peer) => {
    const request = await peer.reader.head("request");
    await resume.promise;
    await peer.reader.body(request!);
    await peer.send(reply(request!.body));
  });
  using proxy = await TlsProxy.start({ certificates: [CERTIFICATE], endpoints: [backend.port] });
  using client = await proxy.connect();
  client.socket.write(`PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${size}\r\n\r\n`);
  let isSent = false;
  const sent = new Promise<void>((resolve) =>
    client.socket.write(body, () => {
      isSent = true;
      resolve();
    })
  );
  await until("the backend has the head", () => backend.accepted === 1);
  const wasSent = isSent;
  resume.resolve();
  assert.ok(!wasSent, "the body is on its way");
  await sent;
  const answer = await client.answer();
  const received = Buffer.from(answer.slice(answer.indexOf("\r\n\r\n") + 4), "latin1");
  assert.equal(received.length, size);
  assert.ok(received.equals(body), "every byte in its place");
});

/** A client that tells TLS's farewell from a connection that just ends. */
async function connectStrictly(port: number): Promise<Deno.TlsConn> {
  const raw = await Deno.connect({ hostname: "127.0.0.1", port });
  const caCerts = [authority.certificate];
  const client = await Deno.startTls(raw, { hostname: "a.test", caCerts });
  await client.handshake();
  return client;
}

/** Everything until the end, which `cut` says the client must not trust. */
async function readAll(client: Deno.TlsConn): Promise<{ text: string; cut: boolean }> {
  const buffer = new Uint8Array(64 * 1024);
  let text = "";
  try {
    for (;;) {
      const count = await client.read(buffer);
      if (count === null) return { text, cut: false };
      text += new TextDecoder().decode(buffer.subarray(0, count));
    }
  } catch {
    return { text, cut: true };
  }
}

Deno.test("a client that half-closes receives its complete response", async () => {
  const half = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await half.promise;
    await peer.send(reply("the answer"));
  });
  using proxy = await TlsProxy.start({ certificates: [CERTIFICATE], endpoints: [backend.port] });
  using client = await connectStrictly(proxy.port);
  await client.write(encoder.encode("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"));
  await client.closeWrite();
  half.resolve();
  const { text } = await readAll(client);
  assert.match(text, /HTTP\/1\.1 200 [\s\S]*\r\n\r\nthe answer$/);
});

Deno.test("a response that ends with its connection ends with close_notify, a cut one without", async () => {
  await using backend = new Backend(async (peer, index) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    if (index === 0) await peer.send("0\r\n\r\n");
  });
  using proxy = await TlsProxy.start({ certificates: [CERTIFICATE], endpoints: [backend.port] });
  for (const isCut of [false, true]) {
    using client = await connectStrictly(proxy.port);
    await client.write(encoder.encode("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n"));
    const { text, cut } = await readAll(client);
    assert.match(text, /\r\n\r\nabc$/);
    assert.equal(cut, isCut);
  }
});

Deno.test("a WebSocket works over HTTPS, and either side may close first", async () => {
  await using backend = new Backend(async (peer: Peer) => {
    await peer.reader.head("request");
    await peer.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    );
    for (let view = await peer.read(); view !== null; view = await peer.read()) {
      await peer.send(view.slice());
    }
    await peer.send("bye");
  });
  using proxy = await TlsProxy.start({ certificates: [CERTIFICATE], endpoints: [backend.port] });
  using client = await proxy.connect();
  const answer = await client.ask(
    "GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  );
  assert.match(answer, /^HTTP\/1\.1 101 /);
  for (const text of ["one", "two".repeat(100_000)]) {
    client.received = "";
    client.socket.write(text);
    await client.until(() => client.received.length >= text.length);
    assert.equal(client.received, text);
  }
  client.received = "";
  client.socket.end();
  await client.until(() => false);
  assert.equal(client.received, "bye");
  await until("the tunnel is closed", () => backend.open.size === 0);
});
