/**
 * A server that authenticates. In: a port and a token, as arguments. Out: 200 with X-User for requests
 * with the token, 401 for others. It runs as a process of its own, so that its CPU time is nobody else's.
 */
import { createServer } from "node:http";

const [port, token] = Deno.args;

createServer(({ headers }, response) => {
  const isKnown = headers.authorization === token;
  response.writeHead(isKnown ? 200 : 401, isKnown ? { "X-User": "bench" } : {});
  response.end();
}).listen(Number(port), "127.0.0.1");
