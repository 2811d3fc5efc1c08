/**
 * WebSocket over HTTP/2 (RFC 8441) as a browser opens it: Chromium has loaded a page over HTTP/2, and
 * puts the page's WebSocket on the same connection. The backend speaks HTTP/1.1.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { snapshotOf } from "../support/test_proxy.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";
import { canTrust, dumpDom, findBrowser } from "./browser.ts";

/** Its image never comes: the page is loaded when the proxy ends the connection. */
const PAGE = `<!doctype html><title>chat</title><p id="said"></p><img src="/late.svg"><script>
  const socket = new WebSocket("wss://" + location.host + "/socket", ["chat.v2", "chat.v1"]);
  const say = (text) => document.getElementById("said").textContent += text + "; ";
  socket.onopen = () => {
    say("opened " + socket.protocol);
    socket.send("x".repeat(200000));
  };
  socket.onmessage = ({ data }) => {
    say("heard " + data);
    socket.send("ready");
  };
  socket.onclose = ({ code, wasClean }) => say("closed " + code + " " + wasClean);
</script>`;

/** Serves the page, and answers what its WebSocket says. */
function startChat() {
  const ready = Promise.withResolvers<void>();
  /** The code; 0 where none comes. */
  const closed = Promise.withResolvers<number>();
  const fields = Promise.withResolvers<Headers>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/late.svg") {
      await closed.promise;
      return new Response(null, { status: 404 });
    }
    if (pathname !== "/socket") {
      return new Response(PAGE, { headers: { "content-type": "text/html" } });
    }
    fields.resolve(new Headers(request.headers));
    const { socket, response } = Deno.upgradeWebSocket(request, { protocol: "chat.v1" });
    socket.onmessage = ({ data }) => {
      if (data === "ready") ready.resolve();
      else socket.send(`${data.length} characters`);
    };
    socket.onclose = ({ code }) => closed.resolve(code);
    return response;
  });
  return {
    server,
    ready: ready.promise,
    fields: fields.promise,
    /** The code of the WebSocket's end, which is waited for until the browser has ended. */
    closed: (dumped: Promise<string>) => {
      dumped.finally(() => closed.resolve(0)).catch(() => {});
      return closed.promise;
    },
  };
}

Deno.test("a browser's WebSocket uses its HTTP/2 connection, and is closed with 1001 when the proxy stops", async () => {
  const name = "a WebSocket over HTTP/2";
  const browser = await findBrowser(name);
  if (browser === null || !await canTrust(name)) return;
  const folder = await Deno.makeTempDir();
  const chat = startChat();
  using observed = new ObservedProxy([chat.server.addr.port]);
  try {
    const { server } = observed.proxy;
    const { port } = await server.listenTls({ hostname: "127.0.0.1", port: 0 });
    const certificate = await certificateFor("chat", { names: ["chat.example.com"] });
    server.apply(snapshotOf([chat.server.addr.port]), [certificate]);
    const file = join(folder, "ca.pem");
    await Deno.writeTextFile(file, authority.certificate);
    const url = `https://chat.example.com:${port}/`;
    const dumped = dumpDom(browser, url, { authority: file });
    const closed = chat.closed(dumped);
    await Promise.race([chat.ready, dumped]);
    await server.drain({ delay: 0, timeout: 200 });
    const code = await closed;
    const page = await dumped;
    assert.equal(code, 1001, page);
    assert.match(page, /opened chat\.v1; heard 200000 characters; closed 1001 true; /);
    const fields = await chat.fields;
    assert.equal(fields.get("origin"), url.slice(0, -1));
    assert.equal(fields.get("x-forwarded-proto"), "https");
    const lines = await observed.lines();
    const found = lines.find(({ path }) => path === "/socket");
    assert.deepEqual([found?.version, found?.method, found?.status], ["2", "CONNECT", 101]);
  } finally {
    await chat.server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});
