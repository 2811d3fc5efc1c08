/**
 * `backend-protocol` of random Ingresses, through ingress-nginx's configuration of nginx and through us, for
 * clients of HTTP/1.1 and HTTP/2. In: a seed, and backends that speak this protocol or another one. Out: the
 * same status, response and request at the backend, or the pair that differs.
 *
 * Left out is what the documentation says we do otherwise: errors of gRPC requests, backends with HTTPS that
 * choose HTTP/2, and responses without a status line, which nginx passes on.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Peer, statusOf } from "../support/backend.ts";
import { data, headers, request } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { certificateFor } from "../support/tls_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type BackendIngress, backendServers } from "./nginx_backends.ts";
import { closingBackend, plainBackend, secureBackend, streamBackend } from "./protocol_backends.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
/** Of each protocol, at least. */
const PAIRS = 40;
const INGRESSES = 80;
const REQUESTS = 4;

/** Services by the protocols that they can be asked by, in order not to speak it, too. */
const SERVICES = {
  HTTP: ["plain"],
  HTTPS: ["secure", "secure", "closing"],
  GRPC: ["streams", "streams", "streams", "closing", "secure"],
  GRPCS: ["sealed", "sealed", "sealed", "secure", "closing"],
} as const;
type Protocol = keyof typeof SERVICES;

const TARGETS = ["/", "/a.B/c?x=y", "/status/5"];

type ProtocolIngress = BackendIngress & { readonly service: string; readonly protocol: Protocol };

interface Case {
  readonly host: string;
  readonly target: string;
  readonly isGrpc: boolean;
  readonly body: string;
}

function randomIngress(
  random: Random,
  index: number,
  ports: Readonly<Record<string, number>>,
): ProtocolIngress {
  const protocols = Object.keys(SERVICES) as Protocol[];
  const protocol = protocols[index % protocols.length];
  const service: string = random.pick(SERVICES[protocol]);
  const written = random.oneIn(3) ? protocol.toLowerCase() : protocol;
  return {
    ...{ host: `h${index}.test`, annotations: { "backend-protocol": written }, protocol, service },
    ...{ endpoints: [ports[service]], paths: [["/", "Prefix"]] },
  };
}

/** Whether the Service speaks the protocol. */
function isSpoken({ protocol, service }: ProtocolIngress): boolean {
  return SERVICES[protocol][0] === service;
}

async function http1(port: number, { host, target, isGrpc, body }: Case) {
  using client = await Peer.connect(port);
  const type = isGrpc ? "application/grpc" : "text/plain";
  const lines = `Host: ${host}\r\nContent-Type: ${type}\r\nX-Own: x\r\nTE: trailers\r\n`;
  const answer = await client.ask(
    `POST ${target} HTTP/1.1\r\n${lines}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
  const status = statusOf(answer);
  return { status, body: status === 200 ? answer.body : "", grpcStatus: "" };
}

async function http2(port: number, { host, target, isGrpc, body }: Case) {
  await using client = await H2Peer.connect(port);
  const stream = client.nextStream();
  const type = isGrpc ? "application/grpc" : "text/plain";
  const fields = [["content-type", type], ["x-own", "x"], ["te", "trailers"]] as const;
  await client.send(
    headers(stream, request("POST", target, fields, host)),
    data(stream, body, { end: true }),
  );
  const answer = await client.answer(stream);
  const grpcStatus = answer.trailers?.find(([name]) => name === "grpc-status")?.[1] ?? "";
  const { status } = answer;
  return { status, body: status === 200 ? answer.body : "", grpcStatus };
}

Deno.test("backend-protocol reaches the backends that it reaches with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const received: string[] = [];
  const certificate = await certificateFor("web", { names: ["web.test"] });
  await using plain = plainBackend(received);
  await using closing = closingBackend();
  await using secure = await secureBackend(received, certificate);
  await using streams = streamBackend(received);
  await using sealed = streamBackend(received, certificate);
  const ports = Object.fromEntries(
    Object.entries({ plain, closing, secure, streams, sealed }).map((
      [name, { port }],
    ) => [name, port]),
  );
  const ingresses = Array.from(
    { length: INGRESSES },
    (_, index) => randomIngress(random.fork(), index, ports),
  );
  const servers = await Promise.all((["", "http2"] as const).map((protocol) => {
    return Nginx.startWith(program, (port) => backendServers(ingresses, port, protocol));
  }));
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [], "nginx", [], ports));
    const found = new Map<string, number>();
    const count = (what: string) => found.set(what, (found.get(what) ?? 0) + 1);
    for (const ingress of ingresses) {
      for (let i = 0; i < REQUESTS; i++) {
        const { host, protocol } = ingress;
        const isHttp2 = random.oneIn(2);
        const asked: Case = {
          ...{ host, target: random.pick(TARGETS), body: "x".repeat(random.pick([0, 5, 10_000])) },
          isGrpc: isSpoken(ingress) && protocol.startsWith("GRPC") && random.oneIn(2),
        };
        const ask = async (port: number) => {
          received.length = 0;
          const outcome = await (isHttp2 ? http2 : http1)(port, asked);
          return { ...outcome, received: isSpoken(ingress) ? [...received] : [] };
        };
        const theirs = await ask(servers[isHttp2 ? 1 : 0].port);
        const ours = await ask(proxy.port);
        const words = `${ingress.service} ${
          JSON.stringify({ ...asked, body: "", isHttp2, protocol })
        }`;
        assert.ok(ours.body === theirs.body, `body: ${words}`);
        assert.deepEqual({ ...ours, body: "" }, { ...theirs, body: "" }, words);
        count(protocol);
        count(`${protocol} ${theirs.status}`);
        if (theirs.grpcStatus !== "") count(`status ${theirs.grpcStatus} of gRPC`);
      }
    }
    for (const protocol of Object.keys(SERVICES)) {
      assert.ok((found.get(protocol) ?? 0) >= PAIRS, `${found.get(protocol)} pairs: ${protocol}`);
      assert.ok(found.has(`${protocol} 200`), `no pair of ${protocol} led to 200`);
    }
    for (
      const what of [
        ...["HTTPS 502", "GRPC 502", "GRPCS 502"],
        ...["status 0 of gRPC", "status 5 of gRPC"],
      ]
    ) assert.ok(found.has(what), `no pair led to ${what}`);
  } finally {
    for (const server of servers) await server.stop();
  }
});
