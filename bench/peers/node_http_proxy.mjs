/**
 * A reverse proxy in a few lines, for Node. In: `LISTEN BACKEND 1|2 [CHAIN KEY]`, with the version of
 * HTTP. Out: a server, until it is ended. It is what the benchmark compares with, and no example of a
 * safe one.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import process from "node:process";

const [listen, backend, version, chain, key] = process.argv.slice(2);
const { hostname, port } = new URL(`http://${listen}`);
const target = new URL(`http://${backend}`);
const scheme = chain === undefined ? "http" : "https";
const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 320 });

/** Connections of their own, which the other side's have nothing to do with (RFC 9110 §7.6.1). */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding"];

function forwardedHeaders(request) {
  const headers = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (!name.startsWith(":") && !HOP_BY_HOP.includes(name)) headers[name] = value;
  }
  headers.host ??= request.headers[":authority"];
  headers["x-forwarded-for"] = request.socket.remoteAddress;
  headers["x-forwarded-proto"] = scheme;
  headers["x-forwarded-host"] = headers.host;
  headers["x-forwarded-port"] = port;
  headers["x-real-ip"] = request.socket.remoteAddress;
  headers["x-request-id"] = randomUUID();
  return headers;
}

function toBackend(request, headers) {
  return http.request({
    agent,
    host: target.hostname,
    port: target.port,
    method: request.method,
    path: request.url,
    headers,
  });
}

function forward(request, response) {
  const upstream = toBackend(request, forwardedHeaders(request));
  upstream.on("response", (answer) => {
    const headers = { ...answer.headers };
    for (const name of HOP_BY_HOP) delete headers[name];
    response.writeHead(answer.statusCode, headers);
    answer.pipe(response);
    answer.on("error", () => response.destroy());
  });
  upstream.on("error", () => {
    if (response.headersSent) return response.destroy();
    response.writeHead(502);
    response.end("bad gateway\n");
  });
  response.on("close", () => {
    if (!response.writableFinished) upstream.destroy();
  });
  if (request.method === "GET" || request.method === "HEAD") upstream.end();
  else request.pipe(upstream);
}

/** A WebSocket: both sides' bytes as they come, once the backend has agreed. */
function tunnel(request, socket, head) {
  const { upgrade } = request.headers;
  const upstream = toBackend(request, {
    ...forwardedHeaders(request),
    connection: "upgrade",
    upgrade,
  });
  upstream.on("upgrade", (answer, other, rest) => {
    const fields = answer.rawHeaders.flatMap((name, index, all) =>
      index % 2 === 0 ? [`${name}: ${all[index + 1]}\r\n`] : []
    );
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields.join("")}\r\n`);
    socket.write(rest);
    other.write(head);
    socket.setNoDelay(true);
    other.setNoDelay(true);
    socket.pipe(other).pipe(socket);
    socket.on("error", () => other.destroy());
    other.on("error", () => socket.destroy());
  });
  upstream.on("response", () => socket.destroy());
  upstream.on("error", () => socket.destroy());
  upstream.end();
}

const secrets = chain === undefined ? {} : { cert: readFileSync(chain), key: readFileSync(key) };

function createServer() {
  if (version === "2") {
    return chain === undefined
      ? http2.createServer(forward)
      : http2.createSecureServer({ ...secrets, allowHTTP1: true }, forward);
  }
  // By default it ends what is idle for 5 s.
  const options = { keepAliveTimeout: 120_000 };
  return chain === undefined
    ? http.createServer(options, forward)
    : https.createServer({ ...options, ...secrets }, forward);
}

createServer().on("upgrade", tunnel).listen({ host: hostname, port: Number(port), backlog: 4096 });
