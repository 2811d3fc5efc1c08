/**
 * Random pairs of Ingress and request, through ingress-nginx's configuration of nginx and through us. In:
 * a seed. Out: the same status, Location and request to the backend, or the pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise: codes with which nginx sends no
 * Location, paths that nginx normalises, and targets without a path on hosts that are redirected to HTTPS.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, recordingBackend, statusOf } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { certificateFor } from "../support/tls_proxy.ts";
import { accessCases, LOGINS, PASSWORD_FILE, USERS } from "../support/access_cases.ts";
import { headerOf } from "../support/wire_message.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type HostedIngress, HTTPS_PORT, ingressServers } from "./nginx_ingress.ts";
import { outcome } from "./nginx_outcome.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_123);
const INGRESSES = 400;
/** Of each annotation, at least. */
const PAIRS = 100;
const REQUESTS = 5;

const PATHS = ["/", "/a", "/a/b", "/ab", "/c", "/dir/"];
const TARGETS = [
  ...["/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/abc", "/A", "/c/d", "/none"],
  ...["/dir", "/dir", "/dir/", "/dir/x"],
];
const QUERIES = ["", "", "?x=y", "?a=/../b&c=%2f", "?"];
const URLS = [
  "https://new.example.com",
  "https://new.example.com/",
  "http://new.example.com:8080/a/b?c=d&e=f",
  "HTTPS://New.example.com/%20/~x",
];
const NETWORKS = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "127.0.0.1",
  "0.0.0.0/0",
  "127.0.0.1/32, 10.1.0.0/16",
];
const CODES = ["301", "302", "303", "307", "200", "400", "0"];

/** Of the redirect to HTTPS, and one of how many Ingresses has them. */
const TO_HTTPS: readonly (readonly [name: string, rarity: number])[] = [
  ["ssl-redirect", 2],
  ["force-ssl-redirect", 5],
  ["preserve-trailing-slash", 2],
  ["use-port-in-redirects", 3],
];

function randomIngress(random: Random, index: number): HostedIngress {
  const annotations: Record<string, string> = {};
  const sometimes = (name: string, rarity: number, value: () => string) => {
    if (random.oneIn(rarity)) annotations[name] = value();
  };
  sometimes("permanent-redirect", 3, () => random.pick([...URLS, "/", "/new?c=d"]));
  sometimes("permanent-redirect-code", 2, () => random.pick([...CODES, "308"]));
  sometimes("temporal-redirect", 5, () => random.pick(URLS));
  sometimes("temporal-redirect-code", 2, () => random.pick(CODES));
  // Without a path for /, nginx redirects there nevertheless: a difference that the table states.
  const hasRoot = random.oneIn(2);
  if (hasRoot) sometimes("app-root", 2, () => random.pick(["/app", "/a/b?c=d", "/~x/"]));
  sometimes("upstream-vhost", 2, () => {
    return random.pick(["web.example.com", "web.test:81", "$host", "x.${host}", "$http_host"]);
  });
  sometimes("relative-redirects", 3, () => random.pick(["true", "true", "false"]));
  sometimes("denylist-source-range", 5, () => random.pick(NETWORKS));
  sometimes("allowlist-source-range", 5, () => random.pick(NETWORKS));
  const isSecure = hasRoot && random.oneIn(2);
  if (hasRoot) {
    for (const [name, rarity] of TO_HTTPS) {
      sometimes(name, rarity, () => random.pick(["true", "true", "false"]));
    }
  }
  const others = PATHS.filter((path) => path !== "/" && random.oneIn(2));
  const paths = [
    ...(hasRoot ? ["/"] : []),
    ...(hasRoot || others.length > 0 ? others : ["/a"]),
  ].map((path) => {
    // nginx redirects to an Exact with a slash at its end, too: a difference that the documentation states.
    const isPrefix = path.endsWith("/") || random.oneIn(2);
    const type = isPrefix ? "Prefix" : "Exact";
    return [path, type] as const;
  });
  const host = `${random.oneIn(4) ? "www." : ""}h${index}.test`;
  sometimes("server-alias", 4, () => {
    return random.pick([`a.${host}`, `b.${host}, *.c.${host}`, `A.${host},b.${host}`]);
  });
  sometimes("from-to-www-redirect", 3, () => random.pick(["true", "true", "false"]));
  return { host, annotations, paths, isSecure };
}

/** Other names of the host, as patterns. */
function otherNames({ host, annotations }: HostedIngress): string[] {
  const aliases = (annotations["server-alias"] ?? "").split(",").map((name) => name.trim());
  return [
    ...aliases.filter((name) => name !== "").map((name) => name.toLowerCase()),
    ...(annotations["from-to-www-redirect"] === "true"
      ? [host.startsWith("www.") ? host.slice(4) : `www.${host}`]
      : []),
  ];
}

function randomRequest(random: Random, ingress: HostedIngress): string {
  const others = otherNames(ingress).map((name) => name.replace("*", "x"));
  const host = others.length === 0 || random.oneIn(2) ? ingress.host : random.pick(others);
  const method = random.pick(["GET", "GET", "DELETE", "OPTIONS"]);
  const target = random.pick(TARGETS) + random.pick(QUERIES);
  // The redirect to the other name keeps the port here; those to a slash and to a path, the host as it was sent, too.
  const isWww = ingress.annotations["from-to-www-redirect"] === "true";
  const isToPath = ingress.annotations["permanent-redirect"]?.startsWith("/") === true;
  const written = target.split("?")[0] === "/dir" || isToPath
    ? host
    : random.pick([host, host, host.toUpperCase(), isWww ? host : `${host}:8080`]);
  return `${method} ${target} HTTP/1.1\r\nHost: ${written}\r\nConnection: close\r\n\r\n`;
}

Deno.test("redirects, hosts and access lists of Ingresses are as with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const ingresses = Array.from(
    { length: INGRESSES },
    (_, index) => randomIngress(random.fork(), index),
  );
  const received: string[] = [];
  await using backend = recordingBackend(received);
  const nginx = await Nginx.startWith(
    program,
    (port) => ingressServers(ingresses, port, backend.port),
  );
  try {
    const names = ingresses.filter(({ isSecure }) => isSecure)
      .flatMap((ingress) => [ingress.host, ...otherNames(ingress)]);
    const certificates = [await certificateFor("all", { names })];
    using proxy = new TestProxy([], {}, { sslRedirect: true, sslRedirectPort: HTTPS_PORT });
    await proxy.server.listenTls({ hostname: "127.0.0.1", port: 0 });
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "nginx"), certificates);
    const kinds = new Map<string, number>();
    const pairs = new Map<string, number>();
    for (const ingress of ingresses) {
      for (let i = 0; i < REQUESTS; i++) {
        const request = randomRequest(random, ingress);
        const theirs = await outcome(nginx.port, request, received);
        const ours = await outcome(proxy.port, request, received);
        assert.deepEqual(ours, theirs, `${JSON.stringify(ingress)} ${JSON.stringify(request)}`);
        const kind = theirs.received === null ? String(theirs.status) : "forwarded";
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        for (const name of Object.keys(ingress.annotations)) {
          pairs.set(name, (pairs.get(name) ?? 0) + 1);
        }
      }
    }
    for (const [name, count] of pairs) assert.ok(count >= PAIRS, `${count} pairs with ${name}`);
    for (const kind of ["301", "302", "303", "307", "308", "403", "404", "forwarded"]) {
      assert.ok(kinds.has(kind), `no pair led to ${kind}`);
    }
  } finally {
    await nginx.stop();
  }
});

/** What a client gets of access, and whether the backend sees its login. */
async function accessOutcome(port: number, request: string, received: string[]) {
  received.length = 0;
  using client = await Peer.connect(port);
  const answer = await client.ask(request);
  const challenge = headerOf(answer.head, "WWW-Authenticate");
  const hasLogin = received.map((head) => /\r\nauthorization:/i.test(head));
  return { status: statusOf(answer), challenge, hasLogin };
}

Deno.test("networks, logins and satisfy of Ingresses are as with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const cases = accessCases();
  const received: string[] = [];
  await using backend = recordingBackend(received);
  const users = await Deno.makeTempFile({ prefix: "users-" });
  await Deno.writeTextFile(users, PASSWORD_FILE);
  await Deno.chmod(users, 0o644);
  const ingresses = cases.map(({ annotations }, i): HostedIngress => {
    return { host: `h${i}.test`, annotations, users, paths: [["/", "Prefix"]] };
  });
  const nginx = await Nginx.startWith(
    program,
    (port) => ingressServers(ingresses, port, backend.port),
  );
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "pingress", [USERS]));
    for (const [i, { annotations, expected }] of cases.entries()) {
      for (const [name, value] of Object.entries(LOGINS)) {
        const login = value === null ? "" : `Authorization: ${value}\r\n`;
        const request = `GET / HTTP/1.1\r\nHost: h${i}.test\r\n${login}Connection: close\r\n\r\n`;
        const theirs = await accessOutcome(nginx.port, request, received);
        const ours = await accessOutcome(proxy.port, request, received);
        const words = `${name} ${JSON.stringify(annotations)}`;
        assert.deepEqual(ours, theirs, words);
        assert.equal(ours.status, expected(name), words);
      }
    }
  } finally {
    await nginx.stop();
    await Deno.remove(users);
  }
});

/** Values of block-* that nginx takes, and lines that they block or miss. */
const BLOCKED_TEXTS = [
  ...["bot", "'Evil Bot'", '""', "~^curl/", "~*spider$", "~^[a-c]+$", "~\\d\\.\\d"],
  ...["~*https?://([a-z]+\\.)?spam\\.test/", "http://a.test/", "\\~tilde"],
];
const LINES = [
  ...["bot", "BOT", "bots", "evil bot", "Evil Bot", "curl/8", "Curl/8", "a spider", "SPIDER"],
  ...["x", "X", "abc", "abd", "1.2", "12", "http://spam.test/", "HTTPS://www.SPAM.test/a"],
  ...["http://a.test/", "http://a.test", "~tilde", "~TILDE", ""],
];

Deno.test("clients of block-* are rejected as by ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const some = (rarity: number) => {
    const texts = BLOCKED_TEXTS.filter(() => random.oneIn(rarity));
    return (texts.length === 0 ? ["bot"] : texts).join(random.pick([",", " , "]));
  };
  await using backend = new Backend();
  const ingresses: HostedIngress[] = [
    { host: "a.test", annotations: {}, paths: [["/", "Prefix"]] },
    { host: "w.test", annotations: { "from-to-www-redirect": "true" }, paths: [["/", "Prefix"]] },
    { host: "r.test", annotations: { "app-root": "/app" }, paths: [["/", "Prefix"]] },
  ];
  const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
  const statuses = new Map<number, number>();
  for (const networks of ["10.0.0.0/8", "10.0.0.0/8,192.0.2.1", "127.0.0.0/8, 10.1.0.0/16"]) {
    const data = {
      "block-cidrs": networks,
      "block-user-agents": some(3),
      "block-referers": some(3),
    };
    const nginx = await Nginx.startWith(
      program,
      (port) => ingressServers(ingresses, port, backend.port, data),
    );
    try {
      await using proxy = await ProxyProcess.start({
        snapshot: annotatedSnapshot(byName, [backend.port], "nginx", [], {}, data),
        args: ["--allow-loopback-upstreams"],
      });
      for (let i = 0; i < PAIRS; i++) {
        // Redirects come before networks there: a difference that the table states.
        const isOpen = !networks.startsWith("127");
        const [host, path] = random.pick(
          isOpen ? [["a.test", "/"], ["www.w.test", "/"], ["r.test", "/"]] : [["a.test", "/"]],
        );
        const lines = ["User-Agent", "Referer"].flatMap((name) =>
          random.oneIn(4) ? [] : [`${name}: ${random.pick(LINES)}\r\n`]
        );
        const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${
          lines.join("")
        }Connection: close\r\n\r\n`;
        const [theirs, ours] = [nginx.port, proxy.httpPort].map((port) =>
          outcome(port, request, [])
        );
        const { status } = await theirs;
        const words = `${JSON.stringify(data)} ${JSON.stringify(request)}`;
        assert.equal((await ours).status, status, words);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    } finally {
      await nginx.stop();
    }
  }
  for (const status of [200, 302, 308, 403]) assert.ok(statuses.has(status), `no pair: ${status}`);
});
