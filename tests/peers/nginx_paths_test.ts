/**
 * Random Ingresses of the profile nginx and requests in all spellings of their paths, through ingress-nginx's
 * configuration of nginx and through us. In: a seed. Out: the same status, Location and request to the
 * backend, or the pair that differs.
 *
 * Left out is what the documentation says we do otherwise: paths that the proxy refuses whatever the host,
 * and rewrites to paths that are not canonical.
 */
import assert from "node:assert/strict";
import { isCanonicalPath } from "../../shared/path/canonical_path.ts";
import { Random } from "../fuzz/random.ts";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { recordingBackend } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type HostedIngress, ingressServers } from "./nginx_ingress.ts";
import { type Outcome, outcome } from "./nginx_outcome.ts";
import { type RegexHost, regexServers } from "./nginx_regex.ts";
import { spelled } from "./spellings.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_125);
const HOSTS = 60;
const REQUESTS = 10;

const TARGETS = [
  ...["/", "/a", "/a/b", "/a/b/c", "/ab", "/admin", "/admin/x", "/é", "/a b", "/none"],
  // A Prefix has them with a slash at its end.
  ...["/dir", "/dir/", "/dir/x", "/è", "/è/x"],
];
const QUERIES = ["", "", "?", "?x=y", "?a=/../b&c=%2f"];

const PATHS = [
  ...[["/", "Prefix"], ["/a", "Prefix"], ["/a/b", "Exact"], ["/admin", "Prefix"]],
  ...[["/adm", "ImplementationSpecific"], ["/é", "Prefix"], ["/a", "Exact"]],
  ...[["/dir/", "Prefix"], ["/è/", "ImplementationSpecific"], ["/dir", "Exact"]],
] as const;

function plainIngress(random: Random, index: number): HostedIngress {
  const annotations: Record<string, string> = {};
  if (random.oneIn(4)) annotations["allowlist-source-range"] = "10.0.0.0/8";
  if (random.oneIn(3)) annotations["relative-redirects"] = "true";
  if (random.oneIn(6)) annotations["permanent-redirect"] = "https://new.example.com/";
  const paths = PATHS.filter(([path]) => path === "/" || random.oneIn(2))
    .filter(([path], i, all) => all.findIndex(([other]) => other === path) === i);
  if (random.oneIn(3)) annotations["app-root"] = "/app";
  return { host: `p${index}.test`, annotations, paths };
}

const PATTERNS = [
  "/",
  "/(.*)",
  "/a(/|$)(.*)",
  "/admin/(.*)",
  "/a|/b",
  "/([^/]*)/(.+)$",
  "/a/b",
  "/ad?min",
  "/(é|a b)(.*)",
];
const REWRITES = [
  "/",
  "/$1",
  "/$2",
  "/new/$1",
  "$1",
  "/fixed?x=$1",
  "/q?y=1&z=$2?",
  "https://new.example.com/$1",
  "http://new.example.com/a?b=$2",
];

function regexHost(random: Random, index: number): RegexHost {
  const host = `r${index}.test`;
  const names = [`r${index}-a`, `r${index}-b`].slice(0, 1 + random.below(2));
  const ingress = (name: string): AnnotatedIngress => {
    const annotations: Record<string, string> = { "upstream-vhost": name, "use-regex": "true" };
    if (random.oneIn(2)) annotations["rewrite-target"] = random.pick(REWRITES);
    if (random.oneIn(3)) annotations["x-forwarded-prefix"] = "/x";
    const path = () => [random.pick(PATTERNS), "ImplementationSpecific"] as const;
    return { host, annotations, paths: Array.from({ length: 1 + random.below(3) }, path) };
  };
  return { host, ingresses: Object.fromEntries(names.map((name) => [name, ingress(name)])) };
}

/** What becomes here of a request that nginx rewrites; see `rewriting`. */
function judged(outcome: Outcome, target: string): Outcome {
  const path = outcome.received?.[0].split(/[ ?]/)[1] ?? null;
  // Targets that are not rewritten go on as they are.
  if (path === null || path === target.split("?")[0] || isCanonicalPath(path)) return outcome;
  return { status: path.startsWith("/") ? 400 : 500, location: null, received: null };
}

Deno.test("in the profile nginx, paths in all spellings lead where they lead in ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const plain = Array.from({ length: HOSTS }, (_, index) => plainIngress(random.fork(), index));
  const regex = Array.from({ length: HOSTS }, (_, index) => regexHost(random.fork(), index));
  const received: string[] = [];
  await using backend = recordingBackend(received);
  const nginx = await Nginx.startWith(program, (port) => {
    const servers = ingressServers(plain, port, backend.port);
    const [, regexBlocks] = regexServers(regex, port, backend.port).split(
      /upstream backend \{[^}]*\}/,
    );
    return servers + regexBlocks;
  });
  try {
    const ingresses: Record<string, AnnotatedIngress> = Object.assign(
      Object.fromEntries(plain.map((ingress, i) => [`p${i}`, ingress])),
      ...regex.map(({ ingresses }) => ingresses),
    );
    await using proxy = await ProxyProcess.start({
      snapshot: annotatedSnapshot(ingresses, [backend.port], "nginx"),
      args: ["--allow-loopback-upstreams"],
    });
    const kinds = new Map<string, number>();
    for (const { host, ...ingress } of [...plain, ...regex]) {
      for (let i = 0; i < REQUESTS; i++) {
        const path = encodeURI(random.pick(TARGETS));
        const target = spelled(path, random) + random.pick(QUERIES);
        const request = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const theirs = judged(await outcome(nginx.port, request, received), target);
        const ours = await outcome(proxy.httpPort, request, received);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingress)} ${target}`);
        const kind = theirs.received !== null
          ? "forwarded"
          : theirs.status === 301
          ? `301 ${/^[a-z]+:|^\//.exec(theirs.location ?? "")?.[0]}`
          : String(theirs.status);
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      }
    }
    for (const kind of ["301 http:", "301 /", "302", "400", "403", "404", "forwarded"]) {
      assert.ok(kinds.has(kind), `no pair led to ${kind}`);
    }
  } finally {
    await nginx.stop();
  }
});
