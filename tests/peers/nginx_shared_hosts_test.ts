/**
 * Hosts whose paths several Ingresses share, one open and one denied, through ingress-nginx's
 * configuration of nginx and through us. In: Ingresses, oldest first, and requests with the status that
 * nginx responds with. Out: the same status.
 */
import assert from "node:assert/strict";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Peer, recordingBackend, statusOf } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { regexServers } from "./nginx_regex.ts";

type Paths = AnnotatedIngress["paths"];

interface SharedHost {
  readonly ingresses: Readonly<Record<string, Omit<AnnotatedIngress, "host">>>;
  /** By path. */
  readonly statuses: Readonly<Record<string, number>>;
}

const open = (...paths: Paths) => ({ annotations: {}, paths });
const denied = (...paths: Paths) => ({
  annotations: { "denylist-source-range": "0.0.0.0/0" },
  paths,
});
const regex = ({ annotations, paths }: Omit<AnnotatedIngress, "host">) => ({
  annotations: { ...annotations, "use-regex": "true" },
  paths,
});

const HOSTS: Readonly<Record<string, SharedHost>> = {
  "an open ImplementationSpecific path takes whole segments": {
    ingresses: {
      site: denied(["/", "Prefix"]),
      public: open(["/public", "ImplementationSpecific"]),
    },
    statuses: { "/public": 200, "/public/x": 200, "/publicity": 403, "/PUBLIC": 403 },
  },
  "of ImplementationSpecific and Prefix the older takes the path": {
    ingresses: {
      admin: denied(["/admin", "ImplementationSpecific"]),
      other: open(["/admin", "Prefix"]),
      site: open(["/", "ImplementationSpecific"]),
    },
    statuses: { "/admin": 403, "/admin/x": 403, "/adminx": 200 },
  },
  "a younger ImplementationSpecific path asks for no regular expressions": {
    ingresses: {
      site: denied(["/", "Prefix"]),
      health: open(["/health", "Exact"]),
      regular: regex(open(["/", "ImplementationSpecific"])),
    },
    statuses: { "/health": 200, "/healthz-private": 403 },
  },
  "an Exact path replaces that of an ImplementationSpecific one beside regular expressions": {
    ingresses: {
      older: open(["/foo", "ImplementationSpecific"]),
      exact: denied(["/foo", "Exact"]),
      regular: regex(open(["/zzz/(.*)", "ImplementationSpecific"])),
    },
    statuses: { "/foo": 403, "/foo/x": 200 },
  },
  "beside regular expressions, an Exact / takes nothing from a younger Prefix /": {
    ingresses: {
      home: open(["/", "Exact"]),
      site: denied(["/", "Prefix"]),
      regular: regex(open(["/api/(.*)", "ImplementationSpecific"])),
    },
    statuses: { "/": 403, "/secret": 403, "/api/x": 200 },
  },
  "beside regular expressions, an Exact / takes nothing": {
    ingresses: {
      home: open(["/", "Exact"]),
      regular: regex(open(["/api/(.*)", "ImplementationSpecific"])),
    },
    statuses: { "/": 404, "/secret": 404, "/api/x": 200 },
  },
  "a path that no request reaches keeps its place from younger ones": {
    ingresses: {
      first: open(["/foo", "Prefix"]),
      regular: regex(open(["/foo", "Prefix"], ["/foo/.*", "Prefix"])),
      exact: denied(["/foo", "Exact"]),
    },
    statuses: { "/foo": 403, "/foo/x": 200 },
  },
  "a path with empty or dot segments takes no request": {
    ingresses: {
      site: denied(["/", "Prefix"]),
      dots: open(["/a/../c", "Prefix"], ["/x/./y", "Exact"], ["/a//b", "Prefix"]),
    },
    statuses: { "/c": 403, "/a/../c": 403, "/x/y": 403, "/a/b": 403, "/a//b": 403 },
  },
  "a Prefix that is rewritten to itself asks for regular expressions": {
    ingresses: {
      admin: {
        annotations: { ...denied().annotations, "rewrite-target": "/admin" },
        paths: [["/admin", "Prefix"]],
      },
      site: open(["/", "Prefix"]),
    },
    statuses: {
      "/admin": 403,
      "/ADMIN": 403,
      "/admin/x": 403,
      "/ADMIN/x": 403,
      "/adminx": 403,
      "/": 200,
    },
  },
  "use-regex with a blank, which Go cannot read, makes no regular expressions": {
    ingresses: {
      site: denied(["/", "Prefix"]),
      health: open(["/health", "Exact"]),
      regular: { annotations: { "use-regex": "true " }, paths: [["/api", "Prefix"]] },
    },
    statuses: { "/health": 200, "/healthz-private": 403, "/api/x": 200 },
  },
  ...Object.fromEntries([
    // A | that stands outside of all groups, behind what looks like a class or a group.
    ...[["/a[^](]|/b[^])]", "/bX"], ["/a\\\\(x|/b\\\\)", "/b)"], ["/a\\\\[x|/b\\\\]", "/b]"]],
    ...[["/a[\\E](]|/b[\\E])]", "/b)"], ["/a[^\\E](]|/b[\\E])]", "/b)"]],
    // A quantifier whose character stands before what means nothing.
    ...[["/secret(?#c)*", "/secre"], ["/secret\\E*", "/secre"], ["/secret\\Q\\E?", "/secre"]],
    ...[["/secret(?#a)(?#b)?", "/secre"], ["/secret(?#c){0}", "/secre"]],
  ].map(([path, request]): [string, SharedHost] => [
    `the unsupported expression ${path} takes ${request}`,
    {
      ingresses: {
        admin: regex(denied([path, "ImplementationSpecific"])),
        site: open(["/", "Prefix"]),
      },
      // Behind a |, all requests may be meant.
      statuses: { [request]: 403, ...(path.includes("|") ? {} : { "/": 200 }) },
    },
  ])),
};

Deno.test("of hosts that Ingresses share, each request gets what ingress-nginx responds", async (t) => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const hosts = Object.values(HOSTS).map(({ ingresses }, i) => {
    const host = `h${i}.test`;
    const named = Object.entries(ingresses).map(([name, { annotations, ...ingress }]) => {
      const full = `h${i}-${name}`;
      const vhost = { ...annotations, "upstream-vhost": full };
      return [full, { ...ingress, annotations: vhost, host }] as const;
    });
    return { host, ingresses: Object.fromEntries(named) };
  });
  await using backend = recordingBackend([]);
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
    for (const [i, [name, { statuses }]] of Object.entries(HOSTS).entries()) {
      await t.step(name, async () => {
        for (const [path, status] of Object.entries(statuses)) {
          const request = `GET ${path} HTTP/1.1\r\nHost: h${i}.test\r\nConnection: close\r\n\r\n`;
          const found = [];
          for (const port of [nginx.port, proxy.httpPort]) {
            using client = await Peer.connect(port);
            found.push(statusOf(await client.ask(request)));
          }
          assert.deepEqual(found, [status, status], `${path}: nginx, Pingress`);
        }
      });
    }
  } finally {
    await nginx.stop();
  }
});
