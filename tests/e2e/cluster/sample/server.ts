/**
 * What the pods of `manifests/sample` run in tests. In: requests on port 80. Out: the pod's name, the
 * scheme and the host that the client asked for, and a WebSocket that echoes.
 */
const pod = Deno.env.get("HOSTNAME");

const server = Deno.serve({ port: 80, onListen() {} }, (request) => {
  if (request.headers.get("upgrade") === "websocket") {
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  }
  const { headers } = request;
  return Response.json({
    pod,
    scheme: headers.get("x-forwarded-proto"),
    host: headers.get("host"),
    path: new URL(request.url).pathname,
  });
});

Deno.addSignalListener("SIGTERM", () => void server.shutdown());
