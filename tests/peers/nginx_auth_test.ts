/**
 * Random pairs of Ingress and request, with external authentication by nginx as ingress-nginx configures it
 * and by us. In: a seed. Out: the same status, headers, subrequest and request to the backend, or the pair
 * that differs.
 *
 * Left out is what the table of annotations says we do otherwise, and headers that nginx passes on to
 * auth-url although they say how a body comes.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type AuthIngress, authServers } from "./nginx_auth.ts";
import { AUTH_PATH, authBackend, authOutcome, namesOf } from "./nginx_auth_outcome.ts";
import { AUTH_HOST } from "./nginx_subrequest.ts";
import { authRequest, randomExternal, TARGETS } from "./random_auth.ts";
import { PairCounts } from "./pair_counts.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_125);
const INGRESSES = 120;
const REQUESTS = 5;

function randomIngress(random: Random, index: number): AuthIngress {
  const annotations = randomExternal(random);
  if (random.oneIn(4)) {
    annotations["allowlist-source-range"] = random.pick(["127.0.0.0/8", "10.0.0.0/8"]);
  }
  // Of this value, nothing is written: with others, Lua sends the subrequest.
  if (random.oneIn(3)) annotations["auth-keepalive"] = "0";
  return { host: `h${index}.test`, annotations, paths: [[random.pick(["/", "/a"]), "Prefix"]] };
}

Deno.test("requests with auth-url are authenticated as with ingress-nginx", async () => {
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
    (port) => authServers(ingresses, { port, backendPort: backend.port, targets: TARGETS }),
  );
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "nginx"));
    const pairs = new PairCounts();
    for (const ingress of ingresses) {
      for (let i = 0; i < REQUESTS; i++) {
        const request = authRequest(random, [ingress.host, `${ingress.host}:8080`]);
        const theirs = await authOutcome(nginx.port, request, heads);
        const ours = await authOutcome(proxy.port, request, heads);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingress)} ${JSON.stringify(request)}`);
        pairs.add(Object.keys(ingress.annotations), namesOf(theirs));
      }
    }
    pairs.assertEnough([
      ...["auth-url", "auth-method", "auth-signin", "auth-signin-redirect-param"],
      ...["auth-request-redirect", "auth-response-headers", "auth-always-set-cookie"],
      ...["auth-keepalive", "allowlist-source-range"],
    ]);
    pairs.assertOutcomes([
      ...["200", "302", "401", "403", "404", "500", "asked", "forwarded", "set-cookie"],
      ...["www-authenticate", "location"],
    ]);
  } finally {
    await nginx.stop();
  }
});

Deno.test("all cookies of auth-url reach the client, of which nginx passes on the first, or makes one of them", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const ingress = (response: string, more = {}): AuthIngress => ({
    host: `${response.slice(0, 3)}.test`,
    annotations: { "auth-url": `http://${AUTH_HOST}${AUTH_PATH}${response}`, ...more },
    paths: [["/", "Prefix"]],
  });
  const ingresses = [
    ingress("200/cookies"),
    ingress("403/cookies", { "auth-always-set-cookie": "true" }),
    ingress("401/cookies", { "auth-signin": "https://login.test/" }),
  ];
  const heads: string[] = [];
  await using backend = authBackend(heads);
  const nginx = await Nginx.startWith(
    program,
    (port) => authServers(ingresses, { port, backendPort: backend.port, targets: ["/"] }),
  );
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "nginx"));
    const cookies = ["auth=1; Path=/", "more=2; Path=/"];
    for (const { host } of ingresses) {
      const request = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const theirs = await authOutcome(nginx.port, request, heads);
      const ours = await authOutcome(proxy.port, request, heads);
      assert.deepEqual(ours.fields["set-cookie"], cookies, host);
      // Since 1.23.0, nginx joins them: browsers read one cookie in either.
      const [line, ...more] = theirs.fields["set-cookie"];
      assert.ok([cookies[0], cookies.join(", ")].includes(line) && more.length === 0, line);
      assert.equal(ours.status, theirs.status, host);
    }
  } finally {
    await nginx.stop();
  }
});
