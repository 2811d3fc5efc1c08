/**
 * Random sequences of requests whose external authentication is cached, by nginx as ingress-nginx configures it
 * and by one worker of ours. In: a seed. Out: for each request the same status, headers and number of
 * subrequests, or the sequence that differs.
 *
 * Left out is what the table of annotations says we do otherwise: requests without a credential, responses
 * with errors of the server or Vary, and Cache-Control that prolongs a time. No entry expires meanwhile.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type AuthIngress, authServers } from "./nginx_auth.ts";
import { AUTH_PATH, authBackend, authOutcome, namesOf } from "./nginx_auth_outcome.ts";
import { AUTH_HOST } from "./nginx_subrequest.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_130);
const INGRESSES = 90;
const REQUESTS = 10;

/** What the server of auth-url responds with. */
const RESPONSES = [
  ...["200", "200/user", "202/user", "204/user", "401", "401/challenge", "403/user"],
  ...["session/user", "session/user/challenge", "200/vary/user"],
  // Those that are not kept.
  ...["200/cookie/user", "401/cookie/challenge", "200/private/user", "200/brief", "401/brief"],
  ...["200/user/expired", "200/unclear", "202/user/uncached"],
];
const KEYS = [
  "$http_authorization",
  "$cookie_s",
  "$http_authorization-$request_uri",
  "$request_method-$cookie_s",
  "$cookie_s-$http_x_part",
  "$host$http_authorization",
];
const DURATIONS = [
  ...["200 202 401 5m", "200 1h", "401 403 30m", "200 204 10m, 401 1h", "10m", "202 1d,200 1d"],
];

function randomIngress(random: Random, index: number): AuthIngress {
  const annotations: Record<string, string> = {
    "auth-url": `http://${AUTH_HOST}${AUTH_PATH}${random.pick(RESPONSES)}`,
    "auth-cache-key": random.pick(KEYS),
    "auth-response-headers": "X-User, X-Groups",
  };
  if (random.oneIn(2)) annotations["auth-cache-duration"] = random.pick(DURATIONS);
  if (random.oneIn(3)) annotations["auth-method"] = random.pick(["GET", "POST", "HEAD"]);
  if (random.oneIn(3)) annotations["auth-signin"] = "https://login.test/?rd=/";
  if (random.oneIn(3)) annotations["auth-always-set-cookie"] = "true";
  // In nginx, a Prefix has two caches: of the path itself, and of those below.
  const paths = random.pick([[["/", "Prefix"]], [["/", "Prefix"], ["/a", "Exact"]]] as const);
  return { host: `h${index}.test`, annotations, paths };
}

/** One of few, so that many have the same key. */
function randomRequest(random: Random, host: string): string {
  const lines = [
    `Host: ${host}`,
    `Authorization: Bearer ${random.pick(["abc", "def"])}`,
    `Cookie: s=${random.pick(["1", "1", "2"])}`,
    ...(random.oneIn(3) ? ["X-Part: part"] : []),
    "Connection: close",
  ];
  const method = random.pick(["GET", "GET", "DELETE"]);
  const target = random.pick(["/", "/a", "/a", "/a/s/404"]);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

Deno.test("responses of auth-url are cached for as many requests as with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const ingresses = Array.from({ length: INGRESSES }, (_, i) => randomIngress(random.fork(), i));
  const heads: string[] = [];
  await using backend = authBackend(heads);
  const nginx = await Nginx.startWith(
    program,
    (port) => authServers(ingresses, { port, backendPort: backend.port, targets: [] }),
  );
  try {
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    await using proxy = await ProxyProcess.start({
      snapshot: annotatedSnapshot(byName, [backend.port], "nginx"),
      args: ["--allow-loopback-upstreams", "--workers=1"],
    });
    const pairs = new PairCounts();
    let isAskedAgain = false;
    for (const ingress of ingresses) {
      const seen = new Set<string>();
      for (let i = 0; i < REQUESTS; i++) {
        const request = randomRequest(random, ingress.host);
        const theirs = await authOutcome(nginx.port, request, heads);
        const ours = await authOutcome(proxy.httpPort, request, heads);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingress)} ${JSON.stringify(request)}`);
        const names = Object.keys(ingress.annotations);
        pairs.add([...names, theirs.asked.length === 0 ? "cached" : "not cached"], namesOf(theirs));
        isAskedAgain ||= seen.has(request) && theirs.asked.length > 0;
        seen.add(request);
      }
    }
    pairs.assertEnough(["auth-cache-key", "auth-cache-duration", "cached", "not cached"]);
    pairs.assertOutcomes(["200", "302", "401", "403", "404", "set-cookie", "www-authenticate"]);
    assert.ok(isAskedAgain, "no response could not be kept");
  } finally {
    await nginx.stop();
  }
});
