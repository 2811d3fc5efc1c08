/** A server of HTTP/2 without TLS. In: its port of loopback. Out: 200 with six bytes to every request. */
import http2 from "node:http2";

http2.createServer((_request, response) => response.end("hello\n"))
  .listen(Number(Deno.args[0]), "127.0.0.1");
