/**
 * Random pairs of Ingress and request, with external authentication together with redirects, rewrites and
 * regular expressions, by nginx as ingress-nginx configures it and by us. In: a seed. Out: the same status,
 * headers, subrequest and request to the backend, or the pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise: paths that nginx normalises, expressions
 * that need more than linear time, and app-root and redirects to HTTPS where no path takes the request.
 */
import assert from "node:assert/strict";
import type { Certificate } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { authority } from "../support/tls_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type AuthIngress, authServers } from "./nginx_auth.ts";
import { authBackend, authOutcome, namesOf } from "./nginx_auth_outcome.ts";
import { HTTPS_PORT } from "./nginx_ingress.ts";
import { PairCounts } from "./pair_counts.ts";
import { authRequest, randomExternal } from "./random_auth.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_129);
/** Of each three features: each two of them are in 6 sets of three. */
const INGRESSES_OF_SET = 3;
/** Of features that redirect few requests alone. */
const OTHER_INGRESSES = 30;
const REQUESTS = 6;

const PLAIN = ["/a", "/c"];
const PATTERNS = ["/a(/|$)(.*)", "/(a|c)/([^/]+)$", "/c/(.*)", "/A(.*)()"];
const URLS = ["https://new.test", "http://new.test:8080/a/b?c=d"];

/** By name. */
const FEATURE_VALUES: Readonly<Record<string, readonly string[]>> = {
  "rewrite-target": ["/new/$2", "/", "/x$1", "/fixed?y=$1", "https://new.test/$1"],
  "use-regex": ["true"],
  "permanent-redirect": URLS,
  "temporal-redirect": URLS,
  "from-to-www-redirect": ["true"],
  "ssl-redirect": ["true"],
  "force-ssl-redirect": ["true"],
  "app-root": ["/app", "/a/b?c=d"],
};
/** Those of which each pair must occur often. */
const FEATURES = Object.keys(FEATURE_VALUES);

const PATHS = ["/", "/a", "/A/b", "/a/", "/a/b/d", "/a/s/404", "/c/d", "/c", "/none"];
const TARGETS = PATHS.flatMap((path) => ["", "?x=y", "?"].map((query) => path + query));

const PAIRS = FEATURES.flatMap((one, i) => FEATURES.slice(i + 1).map((other) => [one, other]));
const SETS = PAIRS.flatMap((pair) =>
  FEATURES.slice(FEATURES.indexOf(pair[1]) + 1).map((third) => [...pair, third])
);
const BRIEF = ["rewrite-target", "use-regex", "from-to-www-redirect", "app-root"];

function randomIngress(random: Random, index: number, features: readonly string[]): AuthIngress {
  const annotations = randomExternal(random);
  const sometimes = (name: string, rarity: number, values: readonly string[]) => {
    if (random.oneIn(rarity)) annotations[name] = random.pick(values);
  };
  for (const name of features) annotations[name] = random.pick(FEATURE_VALUES[name]);
  sometimes("permanent-redirect-code", 4, ["301", "308"]);
  for (const name of ["use-regex", "ssl-redirect", "force-ssl-redirect"]) {
    if (!features.includes(name)) sometimes(name, 3, ["false"]);
  }
  sometimes("preserve-trailing-slash", 4, ["true"]);
  sometimes("denylist-source-range", 8, ["127.0.0.1", "10.0.0.0/8"]);
  const usesRegex = annotations["use-regex"] === "true";
  const others = (usesRegex ? PATTERNS : PLAIN).filter(() => random.oneIn(2));
  const paths = ["/", ...others].map((path) => {
    const type = path === "/" ? "Prefix" : usesRegex ? "ImplementationSpecific" : "Exact";
    return [path, type] as const;
  });
  // Without ssl-redirect, all requests of a host with a certificate are redirected.
  const isSecure = features.includes("ssl-redirect") ? !random.oneIn(4) : random.oneIn(6);
  const host = `${random.oneIn(4) ? "www." : ""}h${index}.test`;
  return { host, annotations, paths, isSecure };
}

function otherName({ host, annotations }: AuthIngress): string | null {
  if (annotations["from-to-www-redirect"] !== "true") return null;
  return host.startsWith("www.") ? host.slice(4) : `www.${host}`;
}

/** As a Secret has it. */
async function certificateOf(names: string[]): Promise<Certificate> {
  const { chain, key } = await authority.issue({ names });
  const origin = { kind: "Secret", namespace: "default", name: "all", field: "data" };
  return {
    id: "all",
    hosts: names,
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin,
  };
}

Deno.test("external authentication, redirects and rewrites come in the order of ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const sets = [
    ...Array.from({ length: INGRESSES_OF_SET }, () => SETS).flat(),
    ...Array.from({ length: OTHER_INGRESSES }, () => BRIEF.filter(() => random.oneIn(2))),
  ];
  const ingresses = sets.map((features, i) => randomIngress(random.fork(), i, features));
  const [toTheirs, toOurs]: string[][] = [[], []];
  await using theirBackend = authBackend(toTheirs);
  await using ourBackend = authBackend(toOurs);
  const nginx = await Nginx.startWith(program, (port) => {
    return authServers(ingresses, { port, backendPort: theirBackend.port, targets: TARGETS });
  });
  try {
    const names = ingresses.filter(({ isSecure }) => isSecure)
      .flatMap((ingress) => [ingress.host, otherName(ingress) ?? ingress.host]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    await using proxy = await ProxyProcess.start({
      snapshot: {
        ...annotatedSnapshot(byName, [ourBackend.port], "nginx"),
        certificates: [await certificateOf([...new Set(names)].sort())],
      },
      args: ["--allow-loopback-upstreams", `--ssl-redirect-port=${HTTPS_PORT}`],
    });
    const pairs = new PairCounts();
    for (const [index, ingress] of ingresses.entries()) {
      const features = sets[index];
      const names = PAIRS.filter((pair) => pair.every((name) => features.includes(name)));
      for (let i = 0; i < REQUESTS; i++) {
        // The redirect to the other name keeps the port here.
        const other = otherName(ingress) ?? `${ingress.host}:8080`;
        const request = authRequest(random, [ingress.host, ingress.host, other], TARGETS);
        const [theirs, ours] = await Promise.all([
          authOutcome(nginx.port, request, toTheirs),
          authOutcome(proxy.httpPort, request, toOurs),
        ]);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingress)} ${JSON.stringify(request)}`);
        pairs.add([...features, ...names.map((pair) => pair.join(" with "))], namesOf(theirs));
      }
    }
    // All of them have auth-url.
    pairs.assertEnough([...FEATURES, ...PAIRS.map((pair) => pair.join(" with "))]);
    pairs.assertOutcomes([
      ...["200", "301", "302", "308", "401", "403", "500", "asked", "forwarded"],
      ...["set-cookie", "location"],
    ]);
  } finally {
    await nginx.stop();
  }
});
