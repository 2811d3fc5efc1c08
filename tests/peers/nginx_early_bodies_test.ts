/**
 * When the backend gets a request whose body is still arriving, beside nginx as ingress-nginx configures it. In:
 * random sizes within client-body-buffer-size. Out: with proxy-request-buffering it gets the request once the
 * body is whole, and without at once.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply, statusOf, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type BackendIngress, backendServers } from "./nginx_backends.ts";
import { textOf } from "../support/latin1.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
const PAIRS = 40;
/** Of a body that is gathered. */
const BUFFER = 16 * 1024;

/** Whether the backend had the request before its body was whole, and the body that it got. */
async function outcome(
  port: number,
  { host, annotations }: BackendIngress,
  [path, first, last, isChunked]: readonly [string, string, string, boolean],
  bodies: ReadonlyMap<string, string>,
) {
  using client = await Peer.connect(port);
  const chunk = (part: string) => isChunked ? `${part.length.toString(16)}\r\n${part}\r\n` : part;
  const framing = isChunked
    ? "Transfer-Encoding: chunked"
    : `Content-Length: ${first.length + last.length}`;
  await client.send(
    `PUT ${path} HTTP/1.1\r\nHost: ${host}\r\n${framing}\r\nConnection: close\r\n\r\n${
      chunk(first)
    }`,
  );
  if (annotations["proxy-request-buffering"] === "off") {
    await until("the backend has the beginning", () => bodies.has(path));
  } else {
    // What has come before this one has been read by then.
    using other = await Peer.connect(port);
    await other.ask(`GET /other HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  }
  const isEarly = bodies.has(path);
  await client.send(chunk(last) + (isChunked ? "0\r\n\r\n" : ""));
  const status = statusOf(await client.answer());
  return { status, isEarly, body: bodies.get(path) };
}

Deno.test("proxy-request-buffering lets the backend wait for a whole body, as by ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const bodies = new Map<string, string>();
  await using backend = new Backend(async (peer) => {
    // Its head is there before its body is.
    let text = "";
    for (let part = await peer.read(); part !== null; part = await peer.read()) {
      text += textOf(part);
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) continue;
      const [head, rest] = [text.slice(0, end), text.slice(end + 4)];
      const body = rest.replace(/[^xy]/g, "");
      bodies.set(head.split(" ")[1], body);
      const length = Number(/\r\nContent-Length: (\d+)/i.exec(head)?.[1] ?? 0);
      const isChunked = /\r\nTransfer-Encoding: chunked/i.test(head);
      const isWhole = isChunked ? rest.endsWith("0\r\n\r\n") : body.length === length;
      if (!isWhole) continue;
      await peer.send(reply("ok", "Connection: close\r\n"));
      return;
    }
  });
  const ingresses = Array.from({ length: PAIRS }, (_, i): BackendIngress => ({
    host: `h${i}.test`,
    annotations: {
      "proxy-request-buffering": random.pick(["on", "off"]),
      "client-body-buffer-size": String(BUFFER),
    },
    endpoints: [backend.port],
    paths: [["/", "Prefix"]],
  }));
  const nginx = await Nginx.startWith(program, (port) => backendServers(ingresses, port));
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "nginx"));
    const found = new Set<boolean>();
    for (const [i, ingress] of ingresses.entries()) {
      const [first, last] = ["x", "y"].map((letter) => {
        return letter.repeat(random.between(1, BUFFER / 2 - 1));
      });
      const isChunked = random.oneIn(2);
      const ask = (port: number, name: string) =>
        outcome(port, ingress, [`/${name}/${i}`, first, last, isChunked], bodies);
      const theirs = await ask(nginx.port, "nginx");
      const ours = await ask(proxy.port, "pingress");
      const words = `${JSON.stringify(ingress.annotations)} ${first.length} ${last.length}`;
      assert.ok(theirs.body === first + last && ours.body === theirs.body, words);
      assert.deepEqual([ours.status, ours.isEarly], [theirs.status, theirs.isEarly], words);
      assert.equal(theirs.isEarly, ingress.annotations["proxy-request-buffering"] === "off", words);
      found.add(theirs.isEarly);
    }
    assert.equal(found.size, 2);
  } finally {
    await nginx.stop();
  }
});
