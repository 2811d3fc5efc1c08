/**
 * HTTPS and WebSocket as a browser sees them: it trusts the authority of `deno task dev` and nothing
 * else, opens a page over HTTPS, and from there a WebSocket.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { canTrust, dumpDom, findBrowser } from "./browser.ts";
import { DevTask } from "./dev_task.ts";

const INGRESS = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: chat, namespace: default }
spec:
  rules:
    - host: chat.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: chat, port: { number: 80 } } }
`;

/** The page is loaded when its image is, and that comes when the WebSocket has been answered. */
const PAGE = `<!doctype html><title>chat</title><p id="said">nothing</p><script>
  const socket = new WebSocket("wss://" + location.host + "/socket");
  socket.onopen = () => socket.send("hello ".repeat(20000));
  socket.onmessage = ({ data }) => {
    document.getElementById("said").textContent = data;
    socket.close(1000, "heard");
  };
</script><img src="/late.svg">`;

/** Serves the page, and answers what its WebSocket says. */
function startChat() {
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/socket") {
      const origin = request.headers.get("origin");
      const scheme = request.headers.get("x-forwarded-proto");
      const { socket, response } = Deno.upgradeWebSocket(request);
      socket.onmessage = ({ data }) =>
        socket.send(`heard ${data.length} characters from ${origin} over ${scheme}`);
      socket.onclose = ({ code, reason }) => closed.resolve({ code, reason });
      return response;
    }
    if (pathname === "/late.svg") {
      await closed.promise;
      return new Response('<svg xmlns="http://www.w3.org/2000/svg"/>', {
        headers: { "content-type": "image/svg+xml" },
      });
    }
    return new Response(PAGE, { headers: { "content-type": "text/html" } });
  });
  return { server, closed: closed.promise };
}

Deno.test("a browser that trusts the generated CA opens a page over HTTPS, and a WebSocket from it", async () => {
  const name = "a page and a WebSocket over HTTPS";
  const browser = await findBrowser(name);
  if (browser === null || !await canTrust(name)) return;
  const folder = await Deno.makeTempDir();
  const { server, closed } = startChat();
  try {
    await Deno.writeTextFile(join(folder, "ingress.yaml"), INGRESS);
    const backend = `default/chat=127.0.0.1:${server.addr.port}`;
    await using dev = await DevTask.start(folder, `--map=${backend}`);
    const answer = await fetch(`http://127.0.0.1:${dev.admin}/ca.crt`);
    const authority = join(folder, "ca.pem");
    await Deno.writeTextFile(authority, await answer.text());
    const url = `https://chat.example.com:${dev.https}`;
    const page = await dumpDom(browser, `${url}/`, { authority });
    assert.match(page, /<title>chat<\/title>/);
    assert.ok(page.includes(`heard 120000 characters from ${url} over https`), page);
    assert.deepEqual(await closed, { code: 1000, reason: "heard" });
    // It does look: with another authority in its place there is no page.
    const other = join(import.meta.dirname!, "..", "golden", "certificates", "two.crt");
    assert.doesNotMatch(await dumpDom(browser, `${url}/`, { authority: other }), /<title>chat</);
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});
