/**
 * Spellings of paths beside those that no-auth-locations exempt, through nginx as ingress-nginx configures it and
 * through us. In: nothing. Out: what nginx does not forward without a login, we do not either.
 */
import assert from "node:assert/strict";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type AuthIngress, authServers } from "./nginx_auth.ts";
import { AUTH_PATH, authBackend, authOutcome } from "./nginx_auth_outcome.ts";
import { AUTH_HOST } from "./nginx_subrequest.ts";

/** Ways to write paths that lead from one that is exempted to one that is not, or to nowhere. */
const SPELLINGS = [
  ...["/public/../x", "/public/%2e%2e/x", "/public/.%2E/x", "/public%2f..%2fx", "/public/..%2fx"],
  ...[
    "/public/./x",
    "/public/./../x",
    "/public//../x",
    "//public/x",
    "/x/../public/y",
    "/public/..",
  ],
  ...["/%70ublic/x", "/PUBLIC/x", "/Public", "/public%00/x", "/public%20/x", "/public;a/x"],
  ...[
    "/public/..;/x",
    "/x;/../public",
    "/publicx",
    "/public%3f/x",
    "/public%23/x",
    "/public\\..\\x",
  ],
  ...["/.well-known/acme-challenge/../../x", "/.well-known/acme-challenge/%2e%2e/x"],
  ...["/.well-known/acme-challenge%2f..%2f..%2fx", "/.well-known//acme-challenge/token"],
  ...[
    "http://h.test/public/../x",
    "http://h.test/public/y",
    "/public/%252e%252e/x",
    "/_external-auth",
  ],
];

Deno.test("no spelling of a path passes authentication that ingress-nginx requires", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const paths = [
    ...[["/", "Prefix"], ["/public", "Prefix"], ["/.well-known/acme-challenge", "Prefix"]],
  ] as const;
  const data = {
    "global-auth-url": `http://${AUTH_HOST}${AUTH_PATH}401`,
    "no-auth-locations": "/public, /.well-known/acme-challenge",
  };
  const ingresses: AuthIngress[] = [
    { host: "h.test", annotations: {}, data, paths },
    { host: "r.test", annotations: { "use-regex": "true" }, data, paths },
  ];
  const [toTheirs, toOurs]: string[][] = [[], []];
  await using theirBackend = authBackend(toTheirs);
  await using ourBackend = authBackend(toOurs);
  const nginx = await Nginx.startWith(program, (port) => {
    return authServers(ingresses, { port, backendPort: theirBackend.port, targets: [] });
  });
  try {
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    await using proxy = await ProxyProcess.start({
      snapshot: annotatedSnapshot(byName, [ourBackend.port], "nginx", [], {}, data),
      args: ["--allow-loopback-upstreams"],
    });
    const both = { admitted: 0, asked: 0 };
    for (const { host } of ingresses) {
      for (const target of SPELLINGS) {
        const written = target.replace("//h.test", `//${host}`);
        const request = `GET ${written} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const [theirs, ours] = await Promise.all([
          authOutcome(nginx.port, request, toTheirs),
          authOutcome(proxy.httpPort, request, toOurs),
        ]);
        if (theirs.received.length === 0) assert.deepEqual(ours.received, [], request);
        else if (ours.received.length > 0) both.admitted++;
        if (theirs.asked.length > 0 && ours.asked.length > 0) both.asked++;
      }
    }
    assert.ok(both.admitted > 0 && both.asked > 0, JSON.stringify(both));
  } finally {
    await nginx.stop();
  }
});
