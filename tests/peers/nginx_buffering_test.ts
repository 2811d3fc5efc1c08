/**
 * Bodies of random Ingresses, through ingress-nginx's configuration of nginx and through us: with buffers or
 * streamed, on connections that are kept or not. In: a seed. Out: the same status, body at the client, and
 * request with its body at the backend, or the pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise: when a body that is streamed begins to arrive
 * and how it is framed then, the version in the request line, and the header of closed connections.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { headerOf } from "../support/wire_message.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type BackendIngress, backendServers } from "./nginx_backends.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
const INGRESSES = 80;
const REQUESTS = 3;

const SIZES = [0, 1, 100, 4_000, 8_192, 16_384, 20_000, 65_536, 70_000, 200_000];
const TARGETS = ["/", "/a/b?x=y", "/%20?"];

interface BodyRequest {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly body: string;
  readonly isChunked: boolean;
  /** Of the response: how many bytes, and how its end is known. */
  readonly size: number;
  readonly framing: "length" | "chunked" | "close";
}

/** What the backend got on one connection after another. */
interface Received {
  readonly connection: number;
  readonly head: string;
  readonly body: string;
}

function randomIngress(random: Random, index: number, port: number): BackendIngress {
  const annotations: Record<string, string> = {};
  const sometimes = (name: string, values: readonly string[]) => {
    if (!random.oneIn(3)) annotations[name] = random.pick(values);
  };
  sometimes("proxy-buffering", ["on", "off"]);
  sometimes("proxy-request-buffering", ["on", "off"]);
  sometimes("client-body-buffer-size", ["1k", "8k", "16k", "64k", "128k"]);
  sometimes("proxy-http-version", ["1.0", "1.1"]);
  sometimes("connection-proxy-header", ["keep-alive", "close"]);
  return { host: `h${index}.test`, annotations, endpoints: [port], paths: [["/", "Prefix"]] };
}

function randomRequest(random: Random, { host, annotations }: BackendIngress): BodyRequest {
  const method = random.pick(["GET", "DELETE", "PUT", "POST", "PATCH"]);
  const size = random.pick(SIZES);
  const body = /^P/.test(method) ? textOf(random, random.pick(SIZES)) : "";
  // Chunks are of HTTP/1.1, which a backend that is asked by HTTP/1.0 does not respond with.
  const framings = annotations["proxy-http-version"] === "1.0"
    ? ["length", "close"] as const
    : ["length", "chunked", "close"] as const;
  return {
    ...{ method, host, target: random.pick(TARGETS), body, size },
    isChunked: body !== "" && random.oneIn(2),
    framing: random.pick(framings),
  };
}

/** So that bytes that are lost or swapped are seen. */
function textOf(random: Random, length: number): string {
  const part = Array.from({ length: 997 }, () => String.fromCharCode(97 + random.below(26)))
    .join("");
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

/** Responds as X-Size and X-Framing say, with a body that the request decides. */
function bodyBackend(received: Received[]): Backend {
  return new Backend(async (peer, connection) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      const { head, body } = asked;
      received.push({ connection, head, body });
      const size = Number(valueOf(head, "x-size"));
      const text = textOf(new Random(size), size);
      const framing = valueOf(head, "x-framing");
      const closes = framing === "close" || valueOf(head, "connection") === "close" ||
        / HTTP\/1\.0\r\n/.test(head);
      const [field, framed] = framing === "chunked"
        ? [
          "Transfer-Encoding: chunked\r\n",
          `${size === 0 ? "" : `${size.toString(16)}\r\n${text}\r\n`}0\r\n\r\n`,
        ]
        : [framing === "close" ? "" : `Content-Length: ${size}\r\n`, text];
      await peer.send(
        `HTTP/1.1 200 OK\r\n${field}${closes ? "Connection: close\r\n" : ""}\r\n${framed}`,
      );
      if (closes) return;
    }
  });
}

function valueOf(head: string, name: string): string {
  return headerOf(head, name) ?? "";
}

async function outcome(port: number, request: BodyRequest, received: Received[]) {
  received.length = 0;
  const { method, target, host, body, isChunked, size, framing } = request;
  const length = body === "" && !/^P/.test(method) ? "" : `Content-Length: ${body.length}\r\n`;
  const [field, framed] = isChunked
    ? ["Transfer-Encoding: chunked\r\n", `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`]
    : [length, body];
  using client = await Peer.connect(port);
  const answer = await client.ask(
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nX-Size: ${size}\r\nX-Framing: ${framing}\r\n` +
      `${field}Connection: close\r\n\r\n${framed}`,
  );
  const [{ head, body: sent, connection } = { head: "", body: "", connection: -1 }] = received;
  return {
    seen: {
      ...{ status: statusOf(answer), body: answer.body, isWhole: answer.complete, sent },
      line: head.split("\r\n")[0].replace(/HTTP\/1\.[01]$/, ""),
      host: valueOf(head, "host"),
      requests: received.length,
      // Whole bodies have a length with both, unless we stream them.
      length: isChunked ? "" : valueOf(head, "content-length"),
    },
    connection,
  };
}

Deno.test("bodies and connections are as with ingress-nginx, whatever is buffered", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const received: Received[] = [];
  await using backend = bodyBackend(received);
  const ingresses = Array.from(
    { length: INGRESSES },
    (_, index) => randomIngress(random.fork(), index, backend.port),
  );
  const nginx = await Nginx.startWith(program, (port) => backendServers(ingresses, port));
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "nginx"));
    const pairs = new PairCounts();
    const kinds = new Set<string>();
    const connections = new Set<boolean>();
    for (const ingress of ingresses) {
      const { annotations } = ingress;
      let before: readonly number[] = [];
      for (let i = 0; i < REQUESTS; i++) {
        const request = randomRequest(random, ingress);
        const theirs = await outcome(nginx.port, request, received);
        const ours = await outcome(proxy.port, request, received);
        const words = `${JSON.stringify(annotations)} ${
          JSON.stringify({ ...request, body: request.body.length })
        }`;
        assert.ok(
          ours.seen.sent === theirs.seen.sent && theirs.seen.sent === request.body,
          `body of the request: ${words}`,
        );
        assert.ok(ours.seen.body === theirs.seen.body, `body of the response: ${words}`);
        assert.deepEqual(ours.seen, theirs.seen, words);
        pairs.add(Object.keys(annotations));
        // Of an Ingress's own requests: nginx has connections of each, we of each endpoint.
        const now = [theirs.connection, ours.connection];
        const [isReused, isReusedHere] = now.map((connection, j) => connection === before[j]);
        if (i > 0) {
          assert.equal(isReusedHere, isReused, `connection is used again: ${words}`);
          connections.add(isReused);
        }
        before = now;
        kinds.add(`${request.framing}, ${request.isChunked ? "chunked" : "whole"}`);
      }
    }
    pairs.assertEnough(new Set(ingresses.flatMap(({ annotations }) => Object.keys(annotations))));
    assert.equal(kinds.size, 6, [...kinds].join("; "));
    assert.equal(connections.size, 2);
  } finally {
    await nginx.stop();
  }
});
