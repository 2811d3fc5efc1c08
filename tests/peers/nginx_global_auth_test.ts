/**
 * Random ConfigMaps, Ingresses and requests, with global external authentication by nginx as ingress-nginx
 * configures it and by us. In: a seed. Out: the same status, headers, subrequests and request to the backend,
 * or the pair that differs.
 *
 * Left out is what the table of keys says we do otherwise: requests without a credential where responses are
 * cached, and texts of no-auth-locations that end in a slash where paths do not.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { telemetryOf, TestProxy } from "../support/test_proxy.ts";
import { LOGINS, PASSWORD_FILE, USERS } from "../support/access_cases.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type AuthIngress, authServers } from "./nginx_auth.ts";
import { authBackend, authOutcome, namesOf } from "./nginx_auth_outcome.ts";
import type { Annotations } from "./nginx_subrequest.ts";
import { PairCounts } from "./pair_counts.ts";
import { randomExternal } from "./random_auth.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_131);
const CONFIG_MAPS = 48;
/** Of each ConfigMap. */
const INGRESSES = 4;
const REQUESTS = 4;

const PATHS = [
  ...[["/public", "Prefix"], ["/public/x", "Exact"], ["/pub", "Exact"], ["/a/b", "Prefix"]],
  ...[["/.well-known/acme-challenge/token", "Exact"], ["/.well-known", "Prefix"], [
    "/with/",
    "Prefix",
  ]],
] as const;
const OPEN = ["/public", "/public,/a/b", " /a , /none", "/public/x", "/", "", "/with/"];
const TARGETS = [
  ...[
    "/",
    "/public",
    "/public/x",
    "/public/y",
    "/publicity",
    "/pub",
    "/a/b",
    "/a/b/c",
    "/none",
    "/with/x",
  ],
  ...["/.well-known/acme-challenge/token", "/.well-known/x", "/s/404", "/public?x=y"],
];

/** @param index Decides on what too few would have by chance. */
function randomData(random: Random, index: number): Annotations {
  const signin = index % 3 === 0
    ? { "auth-signin": "https://login.test/in?x=y", "auth-signin-redirect-param": "back" }
    : {};
  const data = Object.fromEntries(
    Object.entries({ ...randomExternal(random), ...signin })
      .map(([name, value]) => [`global-${name}`, value]),
  );
  if (index % 2 === 0) {
    if (!random.oneIn(4)) data["no-auth-locations"] = random.pick(OPEN);
    return data;
  }
  data["global-auth-cache-key"] = "$http_authorization$cookie_s";
  if (!random.oneIn(4)) data["global-auth-cache-duration"] = "200 401 403 5m, 202 1h";
  return data;
}

function randomIngress(random: Random, host: string, data: Annotations): AuthIngress {
  const annotations: Record<string, string> = {
    ...(random.oneIn(5) ? randomExternal(random) : {}),
    ...(random.oneIn(2) ? { "enable-global-auth": random.pick(["false", "true"]) } : {}),
    ...(random.oneIn(4) ? { "auth-type": "basic", "auth-secret": "users" } : {}),
    ...(random.oneIn(4) ? { satisfy: random.pick(["any", "all"]) } : {}),
    ...(random.oneIn(6) ? { "allowlist-source-range": "127.0.0.0/8" } : {}),
    // Without auth-url, these add to nothing.
    ...(random.oneIn(6) ? { "auth-signin": "https://own.test/?rd=/" } : {}),
    ...(random.oneIn(6) ? { "auth-method": "PATCH", "auth-always-set-cookie": "true" } : {}),
  };
  // In nginx, each path has a cache of its own.
  const others = "global-auth-cache-key" in data ? [] : PATHS.filter(() => random.oneIn(2));
  return { host, annotations, data, paths: [["/", "Prefix"], ...others] };
}

function randomRequest(random: Random, { host, data = {} }: AuthIngress): string {
  // Without a credential, no response is cached here.
  const hasCookie = "global-auth-cache-key" in data || random.oneIn(2);
  const login = random.pick([null, LOGINS.right, LOGINS.wrong]);
  const lines = [
    `Host: ${host}`,
    ...(login === null ? [] : [`Authorization: ${login}`]),
    ...(hasCookie ? ["Cookie: s=1"] : []),
    ...(random.oneIn(2) ? ["X-User: spoofed"] : []),
    "Connection: close",
  ];
  const method = random.pick(["GET", "GET", "DELETE"]);
  return `${method} ${random.pick(TARGETS)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

Deno.test("requests are authenticated by global-auth-url as with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const users = await Deno.makeTempFile({ prefix: "users-" });
  await Deno.writeTextFile(users, PASSWORD_FILE);
  await Deno.chmod(users, 0o644);
  const configMaps = Array.from({ length: CONFIG_MAPS }, (_, i) => {
    const data = randomData(random.fork(), i);
    const ingresses = Array.from({ length: INGRESSES }, (_, j): AuthIngress => {
      return { ...randomIngress(random.fork(), `h${i}-${j}.test`, data), users };
    });
    return { data, ingresses };
  });
  const [toTheirs, toOurs]: string[][] = [[], []];
  await using theirBackend = authBackend(toTheirs);
  await using ourBackend = authBackend(toOurs);
  const nginx = await Nginx.startWith(program, (port) => {
    const all = configMaps.flatMap(({ ingresses }) => ingresses);
    return authServers(all, { port, backendPort: theirBackend.port, targets: TARGETS });
  });
  try {
    const pairs = new PairCounts();
    let isExempted = false;
    for (const { data, ingresses } of configMaps) {
      const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
      const snapshot = annotatedSnapshot(byName, [ourBackend.port], "nginx", [USERS], {}, data);
      using proxy = new TestProxy([], {}, { telemetry: telemetryOf(snapshot) });
      proxy.server.apply(snapshot);
      for (const ingress of ingresses) {
        for (let i = 0; i < REQUESTS; i++) {
          const request = randomRequest(random, ingress);
          const [theirs, ours] = await Promise.all([
            authOutcome(nginx.port, request, toTheirs),
            authOutcome(proxy.port, request, toOurs),
          ]);
          assert.deepEqual(ours, theirs, `${JSON.stringify(ingress)} ${JSON.stringify(request)}`);
          const { annotations } = ingress;
          const exempt = annotations["enable-global-auth"] ?? "missing";
          const isGlobal = !("auth-url" in annotations) && exempt !== "false";
          pairs.add([
            `enable-global-auth ${exempt}`,
            ...(isGlobal ? Object.keys(data) : []),
          ], namesOf(theirs));
          // A response that is kept is used for paths that are not exempted, too.
          isExempted ||= isGlobal && !("global-auth-cache-key" in data) &&
            !("satisfy" in annotations) && theirs.asked.length === 0 && theirs.received.length > 0;
        }
      }
    }
    pairs.assertEnough([
      ...["enable-global-auth true", "enable-global-auth false", "enable-global-auth missing"],
      ...["global-auth-url", "global-auth-method", "global-auth-signin"],
      ...["global-auth-signin-redirect-param", "global-auth-request-redirect"],
      ...["global-auth-response-headers", "global-auth-always-set-cookie"],
      ...["global-auth-cache-key", "global-auth-cache-duration", "no-auth-locations"],
    ]);
    pairs.assertOutcomes([
      ...["200", "302", "401", "403", "404", "500", "asked", "forwarded", "set-cookie"],
      ...["www-authenticate", "location"],
    ]);
    assert.ok(isExempted, "no path was exempted");
  } finally {
    await nginx.stop();
    await Deno.remove(users);
  }
});
