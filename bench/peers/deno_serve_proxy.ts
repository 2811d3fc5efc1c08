/**
 * A reverse proxy in a few lines. In: `LISTEN BACKEND [CHAIN KEY]`. Out: a server, until it is
 * ended. It is what the benchmark compares with, and no example of a safe one.
 */
const [listen, backend, chain, key] = Deno.args;
const { hostname, port } = new URL(`http://${listen}`);
const scheme = chain === undefined ? "http" : "https";
const client = Deno.createHttpClient({ allowHost: true, poolMaxIdlePerHost: 320, http2: false });

/** Connections of their own, which the other side's have nothing to do with (RFC 9110 §7.6.1). */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding"];

Deno.serve({
  hostname,
  port: Number(port),
  onListen: () => {},
  ...(chain === undefined
    ? {}
    : { cert: Deno.readTextFileSync(chain), key: Deno.readTextFileSync(key) }),
}, async (request, { remoteAddr }) => {
  const url = new URL(request.url);
  const headers = new Headers(request.headers);
  for (const name of HOP_BY_HOP) headers.delete(name);
  headers.set("host", url.host);
  headers.set("x-forwarded-for", remoteAddr.hostname);
  headers.set("x-forwarded-proto", scheme);
  headers.set("x-forwarded-host", url.host);
  headers.set("x-forwarded-port", port);
  headers.set("x-real-ip", remoteAddr.hostname);
  headers.set("x-request-id", crypto.randomUUID());
  try {
    const answer = await fetch(`http://${backend}${url.pathname}${url.search}`, {
      client,
      method: request.method,
      headers,
      body: request.body,
      redirect: "manual",
      signal: request.signal,
    });
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  } catch {
    return new Response("bad gateway\n", { status: 502 });
  }
});
