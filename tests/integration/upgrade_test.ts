/**
 * WebSocket and other upgrades over real sockets: Deno's own WebSocket client and server, and raw
 * ones for what those would never send.
 */
import assert from "node:assert/strict";
import { DEFAULT_LIMITS, type Limits } from "../../proxy/http/limits.ts";
import { ProxyServer } from "../../proxy/server.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { silentLogger } from "../../shared/log.ts";
import { SNAPSHOT_FORMAT } from "../../shared/snapshot/types.ts";

const KEY = "dGhlIHNhbXBsZSBub25jZQ==";

/** A proxy that sends every request to one port of loopback. */
function startProxy(port: number, limits: Partial<Limits> = {}) {
  const proxy = new ProxyServer({
    limits: { ...DEFAULT_LIMITS, ...limits },
    trustedProxies: CidrList.empty,
    upstreamNetworks: CidrList.empty,
    allowLoopbackUpstreams: true,
    sslRedirect: false,
    sslRedirectPort: 0,
    log: silentLogger,
  });
  proxy.apply({
    format: SNAPSHOT_FORMAT,
    version: { epoch: "file", seen: {} },
    routes: [],
    defaultAction: { kind: "forward", backends: [{ upstream: "default/backend:80" }] },
    upstreams: [{
      id: "default/backend:80",
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
    }],
    certificates: [],
    defaultCertificate: null,
  });
  return { proxy, port: proxy.listen({ hostname: "127.0.0.1", port: 0 }).port };
}

/** A backend that answers each connection's first head with `answer`, then echoes bytes. */
function startRawBackend(answer: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const heads: string[] = [];
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      connections.push(connection);
      serve(connection).catch(() => {});
    }
  })().catch(() => {});
  async function serve(connection: Deno.Conn) {
    heads.push(await readHead(connection));
    await connection.write(new TextEncoder().encode(answer));
    await connection.readable.pipeTo(connection.writable);
  }
  return {
    port: listener.addr.port,
    heads,
    async close() {
      listener.close();
      await accepting;
      for (const connection of connections) {
        try {
          connection.close();
        } catch {
          // Closed by its own end.
        }
      }
    },
  };
}

/** Reads up to the empty line that ends a head; the text with what came along behind it. */
async function readHead(connection: Deno.Conn): Promise<string> {
  let text = "";
  while (!text.includes("\r\n\r\n")) {
    const bytes = new Uint8Array(4096);
    const count = await connection.read(bytes);
    if (count === null) break;
    text += new TextDecoder().decode(bytes.subarray(0, count));
  }
  return text;
}

async function readText(connection: Deno.Conn, wanted: string): Promise<string> {
  let text = "";
  while (!text.includes(wanted)) {
    const bytes = new Uint8Array(4096);
    const count = await connection.read(bytes);
    if (count === null) break;
    text += new TextDecoder().decode(bytes.subarray(0, count));
  }
  return text;
}

async function ask(port: number, text: string): Promise<Deno.TcpConn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(text));
  return connection;
}

function upgradeRequest(extra: string, upgrade = "websocket"): string {
  return `GET /chat HTTP/1.1\r\nHost: app.example.com\r\nConnection: keep-alive, Upgrade\r\n` +
    `Upgrade: ${upgrade}\r\n${extra}\r\n`;
}

const WEBSOCKET = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n`;
const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ";

Deno.test("a WebSocket carries messages both ways, small and large, and closes with its code", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) =>
      data === "bye" ? socket.close(4001, "done") : socket.send(data);
    return response;
  });
  const { proxy, port } = startProxy(server.addr.port);
  try {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/chat`);
    const received: string[] = [];
    const closed = new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
    await new Promise((resolve, reject) => (socket.onopen = resolve, socket.onerror = reject));
    const large = "x".repeat(1024 * 1024);
    const all = new Promise<void>((resolve) => {
      socket.onmessage = ({ data }) => received.push(data) === 2 && resolve();
    });
    socket.send("hello");
    socket.send(large);
    await all;
    assert.deepEqual(received.map((text) => text.length), [5, large.length]);
    socket.send("bye");
    assert.equal((await closed).code, 4001);
  } finally {
    proxy.close();
    await server.shutdown();
  }
});

Deno.test("any other protocol becomes a raw tunnel after its 101, with half-close", async () => {
  const backend = startRawBackend(`${SWITCHING}Echo/1\r\n\r\nwelcome `);
  const { proxy, port } = startProxy(backend.port);
  try {
    const client = await ask(port, upgradeRequest("", "echo/1"));
    const head = await readText(client, "welcome ");
    assert.match(head, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
    assert.match(head, /\r\nConnection: upgrade\r\nUpgrade: echo\/1\r\n/);
    await client.write(new TextEncoder().encode("ping"));
    await client.closeWrite();
    assert.equal(await readText(client, "never"), "ping");
    assert.match(backend.heads[0], /\r\nConnection: upgrade\r\nUpgrade: echo\/1\r\n/);
    client.close();
  } finally {
    proxy.close();
    await backend.close();
  }
});

Deno.test("bytes after an upgrade request are held until the backend has switched", async () => {
  const backend = startRawBackend("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const { proxy, port } = startProxy(backend.port);
  try {
    const client = await ask(
      port,
      upgradeRequest(WEBSOCKET) +
        "GET /next HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n",
    );
    const text = await readText(client, "never");
    assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, 1);
    assert.equal(backend.heads[0].includes("/next"), false);
    client.close();
  } finally {
    proxy.close();
    await backend.close();
  }
});

const PLAIN: [string, string][] = [
  ["h2c", upgradeRequest("HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n", "h2c")],
  ["a WebSocket of another version", upgradeRequest(WEBSOCKET.replace("13", "8"))],
  ["a WebSocket without a key", upgradeRequest("Sec-WebSocket-Version: 13\r\n")],
  ["a WebSocket with a short key", upgradeRequest(WEBSOCKET.replace(KEY, "c2hvcnQ="))],
  ["a WebSocket by POST", upgradeRequest(WEBSOCKET).replace("GET", "POST")],
  ["two protocols", upgradeRequest("", "websocket, echo")],
  [
    "one that Connection does not name",
    upgradeRequest(WEBSOCKET).replace("keep-alive, Upgrade", "keep-alive"),
  ],
];

for (const [name, request] of PLAIN) {
  Deno.test(`${name} is forwarded as a plain request`, async () => {
    const backend = startRawBackend("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    const { proxy, port } = startProxy(backend.port);
    try {
      const client = await ask(port, request);
      assert.match(await readText(client, "ok"), /^HTTP\/1\.1 200 OK\r\n/);
      assert.doesNotMatch(backend.heads[0], /\r\n(Connection|Upgrade|HTTP2-Settings):/i);
      client.close();
    } finally {
      proxy.close();
      await backend.close();
    }
  });
}

const REFUSED: [string, string, string][] = [
  ["another protocol than requested", upgradeRequest(WEBSOCKET), `${SWITCHING}echo\r\n\r\n`],
  ["no protocol", upgradeRequest(WEBSOCKET), "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
  [
    "a protocol to a plain request",
    "GET / HTTP/1.1\r\nHost: app.example.com\r\n\r\n",
    `${SWITCHING}websocket\r\n\r\n`,
  ],
];

for (const [name, request, answer] of REFUSED) {
  Deno.test(`a backend that switches to ${name} gives 502`, async () => {
    const backend = startRawBackend(answer);
    const { proxy, port } = startProxy(backend.port);
    try {
      const client = await ask(port, request);
      assert.match(await readText(client, "id: "), /^HTTP\/1\.1 502 Bad Gateway\r\n/);
      client.close();
    } finally {
      proxy.close();
      await backend.close();
    }
  });
}

Deno.test("a rejected upgrade leaves the connection usable", async () => {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    return new Response("no", { status: 426 });
  });
  const { proxy, port } = startProxy(server.addr.port);
  try {
    const client = await ask(port, upgradeRequest(WEBSOCKET));
    assert.match(await readText(client, "\r\n\r\nno"), /^HTTP\/1\.1 426 /);
    await client.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a.example.com\r\n\r\n"));
    assert.match(await readText(client, "\r\n\r\nno"), /^HTTP\/1\.1 426 /);
    client.close();
  } finally {
    proxy.close();
    await server.shutdown();
  }
});

Deno.test("an idle tunnel is closed on both sides", async () => {
  const backend = startRawBackend(`${SWITCHING}websocket\r\n\r\n`);
  const { proxy, port } = startProxy(backend.port, { tunnelIdleTimeout: 200 });
  try {
    const client = await ask(port, upgradeRequest(WEBSOCKET));
    await readText(client, "\r\n\r\n");
    const rest = await client.read(new Uint8Array(16)).catch(() => null);
    assert.equal(rest, null);
    client.close();
  } finally {
    proxy.close();
    await backend.close();
  }
});
