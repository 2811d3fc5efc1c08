/**
 * Random Ingresses with `x-forwarded-prefix`, through ingress-nginx's configuration of nginx and through us. In: a
 * seed. Out: the same status and request with X-Forwarded-Prefix at the backend, or the pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise: groups with other than visible ASCII.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { recordingBackend } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { outcome } from "./nginx_outcome.ts";
import { type RegexHost, regexServers } from "./nginx_regex.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
/** In which the backend gets the header, at least. */
const PAIRS = 100;
const HOSTS = 80;
const REQUESTS = 5;

const PATHS = ["/", "/(.*)", "/api(/|$)(.*)", "/api/(v[0-9])/?(.*)", "/(a|b)/([^/]+)$", "/api"];
const TARGETS = ["/$1", "/$2", "/new/$1", "/", "/api", "/q?y=$1"];
const PREFIXES = ["/api", "/$1", "$2", "/x/$1$2", "/$1/$3", "/a-b_c.d", "api"];
const REQUESTED = ["/api", "/api/", "/api/v1", "/api/v2/x", "/API/V3/Y", "/a/b", "/b/c-d.e", "/"];
const QUERIES = ["", "?x=y", "?"];

function randomHost(random: Random, index: number): RegexHost {
  const host = `h${index}.test`;
  const name = `i${index}`;
  const annotations: Record<string, string> = {
    "upstream-vhost": name,
    "use-regex": "true",
    "x-forwarded-prefix": random.pick(PREFIXES),
  };
  if (!random.oneIn(4)) annotations["rewrite-target"] = random.pick(TARGETS);
  const paths = Array.from(
    { length: random.between(1, 2) },
    () => [random.pick(PATHS), "ImplementationSpecific"] as const,
  );
  return { host, ingresses: { [name]: { host, annotations, paths } } };
}

Deno.test("x-forwarded-prefix is sent with the same requests as by ingress-nginx, with the same text", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const hosts = Array.from({ length: HOSTS }, (_, index) => randomHost(random.fork(), index));
  const received: string[] = [];
  await using backend = recordingBackend(received);
  const nginx = await Nginx.startWith(program, (port) => regexServers(hosts, port, backend.port));
  try {
    const all = Object.assign({}, ...hosts.map(({ ingresses }) => ingresses));
    await using proxy = await ProxyProcess.start({
      snapshot: annotatedSnapshot(all, [backend.port], "nginx"),
      args: ["--allow-loopback-upstreams"],
    });
    const counts = { with: 0, without: 0, unmatched: 0 };
    for (const { host, ingresses } of hosts) {
      for (let i = 0; i < REQUESTS; i++) {
        const target = random.pick(REQUESTED) + random.pick(QUERIES);
        const request = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const theirs = await outcome(nginx.port, request, received);
        const ours = await outcome(proxy.httpPort, request, received);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingresses)} ${target}`);
        const prefix = theirs.received?.[2];
        counts[prefix === undefined ? "unmatched" : prefix === "" ? "without" : "with"]++;
      }
    }
    assert.ok(counts.with >= PAIRS, `${counts.with} pairs with the header`);
    assert.ok(counts.without > 0 && counts.unmatched > 0);
  } finally {
    await nginx.stop();
  }
});
