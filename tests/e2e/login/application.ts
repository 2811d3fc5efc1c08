/**
 * An application that believes what the proxy says of the user. In: requests. Out: a page with the
 * user's name and a WebSocket, all that it has received as JSON, and every name that it ever got.
 */

/** All headers from which an application could take a user, in any spelling that some servers fold. */
const IDENTITY = /^x[-_.]auth[-_.]request[-_.](?:user|email)$/i;

export function application(): (request: Request) => Response {
  const seen = new Set<string>();
  return (request) => {
    const { headers } = request;
    for (const [name, value] of headers) if (IDENTITY.test(name)) seen.add(value);
    const { pathname, search } = new URL(request.url);
    switch (pathname) {
      case "/ready":
        return new Response("OK");
      case "/live/headers":
      case "/headers":
        return Response.json(Object.fromEntries(headers));
      case "/seen":
        return Response.json([...seen].sort());
      case "/live/socket": {
        if (headers.get("upgrade") !== "websocket") return new Response(null, { status: 426 });
        const { socket, response } = Deno.upgradeWebSocket(request);
        socket.onmessage = ({ data }) => socket.send(`${data}, ${userOf(headers)}`);
        return response;
      }
      case "/favicon.ico":
        return new Response(null, { status: 204 });
      default:
        return new Response(page(headers, pathname + search), {
          headers: { "content-type": "text/html; charset=utf-8" },
        });
    }
  };
}

function userOf(headers: Headers): string {
  return headers.get("x-auth-request-user") ?? "nobody";
}

function page(headers: Headers, target: string): string {
  const email = headers.get("x-auth-request-email") ?? "no address";
  return `<!doctype html><title>Application</title>
<p id="user">${escaped(userOf(headers))}</p>
<p id="email">${escaped(email)}</p>
<p id="target">${escaped(target)}</p>
<p id="live"></p>
<script>
  const socket = new WebSocket("wss://" + location.host + "/live/socket");
  socket.onopen = () => socket.send("hello");
  socket.onmessage = ({ data }) => document.getElementById("live").textContent = data;
  socket.onerror = () => document.getElementById("live").textContent = "refused";
</script>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
