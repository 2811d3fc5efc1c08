/**
 * Random hosts whose Ingresses use regular expressions and rewrites, through ingress-nginx's configuration
 * of nginx and through us. In: a seed. Out: the same status, Location and request to the backend of the same
 * Ingress, or the pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise: paths that nginx normalises, and expressions
 * that need more than linear time.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { recordingBackend } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type Outcome, outcome } from "./nginx_outcome.ts";
import { type RegexHost, regexServers } from "./nginx_regex.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_124);
const HOSTS = 100;
const REQUESTS = 5;

/** Annotations that hosts have by chance. */
const NAMES = ["use-regex", "rewrite-target", "x-forwarded-prefix"];

const PLAIN = [
  ...[["/", "Prefix"], ["/a", "Prefix"], ["/c/", "Prefix"], ["/api", "Prefix"], ["/Api", "Exact"]],
  ...[["/api/v1", "Exact"], ["/foo.bar", "Prefix"], ["/foo.bar", "Exact"], ["/a/b", "Prefix"]],
] as const;
const PATTERNS = [
  "/",
  "/(.*)",
  "/api(/|$)(.*)",
  "/api/(.*)",
  "/API/v[0-9]+",
  "/api/v([0-9])(/.*)?",
  "/a|/b",
  "/(a|b)/([^/]+)$",
  "/a+b?",
  "/[A-F]+/",
  "/[^/]*/b",
  "/foo\\.bar",
  "/a{2,3}/x",
  "/(?:x|y)(/)?",
  "/(a)(p)(i)(.*)$",
  "/([a-z]*)-([0-9]{1,3})",
];
const TARGETS = [
  "/",
  "/$1",
  "/$2",
  "/new/$1",
  "/x$2/$1",
  "$1",
  "$2",
  "/api/v1",
  "/fixed?x=$1",
  "/fixed?",
  "/q?y=1&z=$2?",
  "https://new.example.com/$1",
  "http://new.example.com/a?b=$2",
  "/$1$1$2$3$4",
  "/$9/z",
];
const REQUESTED = [
  ...["/", "/a", "/A", "/a/", "/a/b", "/a/b/c", "/b", "/b/a", "/x/b", "/api", "/API", "/api/"],
  ...[
    "/apix",
    "/api/v1",
    "/api/v1/",
    "/Api/V12/users",
    "/foo.bar",
    "/foo.bar/x",
    "/fooxbar",
    "/aa/x",
    "/aaaa/x",
  ],
  ...["/aab", "/abc-123", "/x", "/y/", "/cafe/", "/c/d", "/a-1", "/none/at/all"],
];
const QUERIES = ["", "", "?x=y", "?a=/../b&c=%2f", "?"];

function randomIngress(random: Random, host: string, name: string): AnnotatedIngress {
  const annotations: Record<string, string> = { "upstream-vhost": name };
  if (random.oneIn(2)) annotations["use-regex"] = random.pick(["true", "true", "false"]);
  if (random.oneIn(2)) annotations["rewrite-target"] = random.pick(TARGETS);
  if (random.oneIn(3)) {
    annotations["x-forwarded-prefix"] = random.pick(["/api", "/$1", "$2", "/x/$1$2"]);
  }
  const isPlain = random.oneIn(3);
  const paths = Array.from(
    { length: random.below(4) },
    () => isPlain ? random.pick(PLAIN) : [random.pick(PATTERNS), "ImplementationSpecific"] as const,
  );
  // A path that looks like one needs somebody who makes it one.
  if (!isPlain && annotations["rewrite-target"] === undefined) annotations["use-regex"] = "true";
  if (!isPlain && annotations["use-regex"] === "false") annotations["use-regex"] = "true";
  return { host, annotations, paths, ...(random.oneIn(4) ? { hasDefaultBackend: true } : {}) };
}

function randomHost(random: Random, index: number): RegexHost {
  const host = `h${index}.test`;
  const names = [`h${index}-a`, `h${index}-b`].slice(0, 1 + random.below(2));
  return {
    host,
    ingresses: Object.fromEntries(names.map((name) => [name, randomIngress(random, host, name)])),
  };
}

/** A target that is no path, which nginx sends on, is refused here. */
function judged(outcome: Outcome): Outcome {
  const isPath = outcome.received === null || outcome.received[0].startsWith("GET /");
  return isPath ? outcome : { status: 500, location: null, received: null };
}

Deno.test("regular expressions and rewrites of Ingresses are as with ingress-nginx", async () => {
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
      snapshot: annotatedSnapshot(all, [backend.port]),
      args: ["--allow-loopback-upstreams"],
    });
    const kinds = new Map<string, number>();
    const pairs = new PairCounts();
    for (const { host, ingresses } of hosts) {
      const names = new Set(
        Object.values(ingresses).flatMap(({ annotations }) => Object.keys(annotations)),
      );
      for (let i = 0; i < REQUESTS; i++) {
        const target = random.pick(REQUESTED) + random.pick(QUERIES);
        const request = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const theirs = judged(await outcome(nginx.port, request, received));
        const ours = await outcome(proxy.httpPort, request, received);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingresses)} ${target}`);
        const kind = theirs.received === null ? String(theirs.status) : "forwarded";
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        pairs.add([...names]);
      }
    }
    pairs.assertEnough(NAMES);
    for (const kind of ["302", "404", "500", "forwarded"]) {
      assert.ok(kinds.has(kind), `no pair led to ${kind}`);
    }
  } finally {
    await nginx.stop();
  }
});
