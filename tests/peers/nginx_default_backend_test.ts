/**
 * Random Ingresses with `default-backend`, through ingress-nginx's configuration of nginx and through us. In: a
 * seed, and Services with and without endpoints. Out: the same status, Location, and request to the same
 * Service, or the pair that differs.
 *
 * Left out is what the documentation says we do otherwise: the headers about the error, and that a denylist
 * counts before it is known whether there are endpoints.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, reply } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type HostedIngress, ingressServers } from "./nginx_ingress.ts";
import { outcome } from "./nginx_outcome.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
/** Of the annotation, at least. */
const PAIRS = 100;
const INGRESSES = 80;
const REQUESTS = 4;

const PATHS = ["/", "/a", "/a/b", "/c"];
const TARGETS = ["/", "/a", "/a/", "/a/b", "/ab", "/c/d?x=y", "/%61?"];
const NETWORKS = ["10.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8"];

/** By names of Services: `missing` is none. */
type Ports = Readonly<Record<string, readonly number[]>>;

type DefaultIngress = HostedIngress & { readonly service: string };

function randomIngress(random: Random, index: number, ports: Ports): DefaultIngress {
  const annotations: Record<string, string> = {};
  const sometimes = (name: string, rarity: number, value: () => string) => {
    if (random.oneIn(rarity)) annotations[name] = value();
  };
  if (!random.oneIn(5)) {
    annotations["default-backend"] = random.pick([
      "errors",
      "errors",
      "errors",
      "empty",
      "missing",
    ]);
  }
  sometimes("upstream-vhost", 3, () => random.pick(["web.example.com", "$host"]));
  sometimes("permanent-redirect", 6, () => "https://new.example.com/a");
  sometimes("denylist-source-range", 4, () => random.pick(NETWORKS));
  const service = random.pick(["web", "gone", "gone"]);
  const named = ports[annotations["default-backend"] ?? "missing"] ?? [];
  const [endpoint = named[0] ?? null] = ports[service];
  const paths = PATHS.filter(() => random.oneIn(2)).map((path) => [path, "Prefix"] as const);
  return {
    ...{ host: `h${index}.test`, annotations, service, endpoint },
    paths: paths.length === 0 ? [["/", "Prefix"]] : paths,
  };
}

Deno.test("default-backend gets the requests that it gets from ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const received: string[] = [];
  const asked: string[] = [];
  const backendOf = (name: string) =>
    new Backend(async (peer) => {
      for (let one = await peer.request(); one !== null; one = await peer.request()) {
        received.push(one.head);
        asked.push(name);
        await peer.send(reply(name));
      }
    });
  await using web = backendOf("web");
  await using errors = backendOf("errors");
  const ports = { web: [web.port], errors: [errors.port], gone: [], empty: [] };
  const ingresses = Array.from(
    { length: INGRESSES },
    (_, index) => randomIngress(random.fork(), index, ports),
  );
  const nginx = await Nginx.startWith(
    program,
    (port) => ingressServers(ingresses, port, web.port),
  );
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    const { web: endpoints, ...others } = ports;
    proxy.server.apply(annotatedSnapshot(byName, endpoints, "nginx", [], others));
    const found = new Map<string, number>();
    let pairs = 0;
    for (const ingress of ingresses) {
      const { host, annotations } = ingress;
      for (let i = 0; i < REQUESTS; i++) {
        const method = random.pick(["GET", "DELETE", "OPTIONS"]);
        const target = random.pick(TARGETS);
        const request =
          `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const ask = async (port: number) => {
          asked.length = 0;
          return { ...await outcome(port, request, received), service: asked.join() };
        };
        const theirs = await ask(nginx.port);
        const ours = await ask(proxy.port);
        const isDenied = theirs.status === 503 &&
          annotations["denylist-source-range"] === "127.0.0.0/8";
        const expected = isDenied ? { ...theirs, status: 403 } : theirs;
        assert.deepEqual(ours, expected, `${JSON.stringify(ingress)} ${JSON.stringify(request)}`);
        if ("default-backend" in annotations) pairs++;
        const kind = theirs.service || String(theirs.status);
        found.set(kind, (found.get(kind) ?? 0) + 1);
      }
    }
    assert.ok(pairs >= PAIRS, `${pairs} pairs`);
    for (const kind of ["web", "errors", "301", "403", "404", "503"]) {
      assert.ok(found.has(kind), `no pair led to ${kind}`);
    }
  } finally {
    await nginx.stop();
  }
});
