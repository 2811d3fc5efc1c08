/**
 * Random hosts of which several paths take the same requests, some of them regular expressions that we do
 * not support, through ingress-nginx's configuration of nginx and through us. In: a seed. Out: the same
 * status and Ingress; or 500 where an unsupported expression may be meant for the request, never 200.
 */
import assert from "node:assert/strict";
import { Random } from "../fuzz/random.ts";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Peer, recordingBackend, statusOf } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { headerOf } from "../support/wire_message.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type RegexHost, regexServers } from "./nginx_regex.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_126);
/** Of each kind. */
const HOSTS = 100;
const REQUESTS = 6;

/** On a host of regular expressions they are some, too. */
const PLAIN = [
  ...[["/", "Prefix"], ["/", "ImplementationSpecific"], ["/foo", "Prefix"], ["/foo", "Exact"]],
  ...[["/", "Exact"]],
  ...[["/Foo", "Prefix"], ["/FOO", "Exact"], ["/foo/", "Prefix"], ["/foo/", "Exact"]],
  ...[["/admin", "Prefix"], ["/Admin", "Exact"], ["/é", "Prefix"], ["/fo", "Prefix"]],
] as const;

/** Many take what others or plain paths do, and mean the same once they are read. */
const PATTERNS = [
  ...[
    "/",
    "/.*",
    "/(.*)",
    "/()",
    "/foo",
    "/Foo",
    "/FOO",
    "/foo.*",
    "/foo(.*)",
    "/foo()",
    "/foo(?:)",
  ],
  ...[
    "/f[o]o",
    "/fo{1}o",
    "/f.o",
    "/foo(|x)",
    "/foo|/foo",
    "/foo/",
    "/foo/.*",
    "/[f]oo/",
    "/(é|f)oo",
  ],
  ...["/admin", "/admin.*", "/[a]dmin", "/ad?min", "/a", "/(a|b)", "/a|/b", "/a|^/b"],
];

/** That PCRE takes and we do not, with how everything begins that may match. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  "/(?i)admin": "/",
  "/a(?i:dmin)": "/a",
  "/[[:alpha:]]+min": "/",
  "/\\x{61}dmin": "/",
  "/(?>ad|a)min": "/",
  "/a(?#c)dmin": "/a",
  "/(?P<n>a)dmin": "/",
  "/\\A/admin": "/",
  "/a{1,20}dmin": "/",
  "/\\p{L}dmin": "/",
  "/(a)\\1?dmin": "/",
  "/admin\\K": "/admin",
  "/\\Qadmin\\E": "/",
  "/(?|(a)|(f))": "/",
  "/foo(?!b)": "/foo",
  "/foo/(?=x)": "/foo/",
  "/(?!foo)": "/",
  "/foo(?<n>o)?\\k<n>?": "/foo",
  "/zz|/foo(?=b)": "",
  "/a[](]|/b[])]?": "",
};

const REQUESTED = [
  ...[
    "/",
    "/foo",
    "/FOO",
    "/Foo",
    "/foo/",
    "/foo/x",
    "/foobar",
    "/fo",
    "/fox",
    "/zz",
    "/b",
    "/x/b",
  ],
  ...[
    "/admin",
    "/ADMIN",
    "/aDmin/x",
    "/administer",
    "/a",
    "/aadmin",
    "/%C3%A9",
    "/%C3%A9oo",
    "/x/foob",
  ],
];

const HAS_EVERY_CLIENT = "0.0.0.0/0";

interface Outcome {
  readonly status: number;
  /** Whose backend got it; null for none. */
  readonly ingress: string | null;
}

interface Host extends RegexHost {
  /** How everything begins that may get 500. */
  readonly starts: readonly string[];
}

function randomHost(random: Random, index: number, hasUnsupported: boolean): Host {
  const host = `h${index}.test`;
  const starts: string[] = [];
  const ingress = (name: string, usesRegex: boolean): AnnotatedIngress => {
    const annotations: Record<string, string> = { "upstream-vhost": name };
    if (random.oneIn(2)) annotations["denylist-source-range"] = HAS_EVERY_CLIENT;
    if (usesRegex) annotations["use-regex"] = "true";
    const paths = Array.from({ length: 1 + random.below(2) }, () => {
      if (!usesRegex || random.oneIn(4)) return random.pick(PLAIN);
      if (!hasUnsupported || random.oneIn(3)) {
        return [random.pick(PATTERNS), "ImplementationSpecific"] as const;
      }
      const path = random.pick(Object.keys(UNSUPPORTED));
      starts.push(UNSUPPORTED[path]);
      return [path, random.pick(["ImplementationSpecific", "Prefix"])] as const;
    });
    return { host, annotations, paths };
  };
  const names = ["a", "b", "c"].slice(0, 2 + random.below(2)).map((each) => `h${index}-${each}`);
  const regular = random.pick(names);
  const ingresses = Object.fromEntries(
    names.map((name) => [name, ingress(name, name === regular || random.oneIn(3))]),
  );
  return { host, ingresses, starts };
}

async function outcome(port: number, request: string, received: string[]): Promise<Outcome> {
  received.length = 0;
  using client = await Peer.connect(port);
  const status = statusOf(await client.ask(request));
  return { status, ingress: headerOf(received[0] ?? "", "Host") };
}

Deno.test("of several paths that take a request, the one that ingress-nginx takes has it", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const hosts = Array.from(
    { length: 2 * HOSTS },
    (_, index) => randomHost(random.fork(), index, index >= HOSTS),
  );
  const received: string[] = [];
  await using backend = recordingBackend(received);
  const nginx = await Nginx.startWith(program, (port) => regexServers(hosts, port, backend.port));
  try {
    await using proxy = await ProxyProcess.start({
      snapshot: annotatedSnapshot(
        Object.assign({}, ...hosts.map(({ ingresses }) => ingresses)),
        [backend.port],
        "nginx",
      ),
      args: ["--allow-loopback-upstreams"],
    });
    const kinds = new Map<string, number>();
    for (const { host, ingresses, starts } of hosts) {
      for (let i = 0; i < REQUESTS; i++) {
        const path = random.pick(REQUESTED);
        const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const theirs = await outcome(nginx.port, request, received);
        const ours = await outcome(proxy.httpPort, request, received);
        const mayBeMeant = starts.some((start) => path.toLowerCase().startsWith(start));
        // Networks that the Ingress of the expression denies get 403 before.
        const isRefused = mayBeMeant && (ours.status === 500 || ours.status === 403);
        if (!isRefused) assert.deepEqual(ours, theirs, `${JSON.stringify(ingresses)} ${path}`);
        const kind = `${theirs.status}${isRefused ? " as 500" : ""}`;
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      }
    }
    for (const kind of ["200", "403", "404", "200 as 500", "403 as 500"]) {
      assert.ok(kinds.has(kind), `no pair led to ${kind}`);
    }
  } finally {
    await nginx.stop();
  }
});
