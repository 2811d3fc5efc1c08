/**
 * What the pods of `manifests/sample` run in tests. In: requests on port 80, and gRPC on port 50051 by
 * HTTP/2 in plain text. Out: the pod's name, the scheme and the host that the client asked for, a
 * WebSocket that echoes, and messages of gRPC that come back.
 */
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";

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

const rpc = createServer();
rpc.on("stream", (stream: ServerHttp2Stream, fields: IncomingHttpHeaders) => {
  stream.respond(
    { ":status": 200, "content-type": fields["content-type"], "x-pod": pod },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.on("error", () => {});
  stream.pipe(stream);
});
rpc.listen(50051);

Deno.addSignalListener("SIGTERM", () => {
  server.shutdown();
  rpc.close();
});
