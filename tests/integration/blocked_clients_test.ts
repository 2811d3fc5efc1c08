/**
 * Clients that ingress-nginx's ConfigMap blocks, from its keys to what clients get over HTTP/1.1 and
 * HTTP/2. Out: 403, and nothing forwarded; the upstream's response for all others.
 */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { type Field, get, headers } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { TestProxy } from "../support/test_proxy.ts";

const HOST = "a.test";
const INGRESSES: Readonly<Record<string, AnnotatedIngress>> = {
  a: { host: HOST, annotations: {}, paths: [["/", "Prefix"]] },
};

function counting(seen: string[]): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      seen.push(asked.head.split(" ")[1]);
      await peer.send(reply("ok"));
    }
  });
}

function snapshotWith(
  data: Readonly<Record<string, string>>,
  port: number,
  ingresses = INGRESSES,
): Snapshot {
  return annotatedSnapshot(ingresses, [port], "nginx", [], {}, data);
}

async function statusOverHttp1(port: number, host: string, path: string, fields: Field[]) {
  using client = await Peer.connect(port);
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return statusOf(await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n`));
}

async function statusOverHttp2(port: number, host: string, path: string, fields: Field[]) {
  await using client = await H2Peer.connect(port);
  const own = get(path, fields.filter(([name]) => name !== "connection"))
    .map(([name, value]): Field => [name, name === ":authority" ? host : value]);
  await client.send(headers(1, own, { end: true }));
  return (await client.answer(1)).status;
}

const WAYS = [["HTTP/1.1", statusOverHttp1], ["HTTP/2", statusOverHttp2]] as const;

const AGENT = "user-agent";

const CASES: readonly (readonly [
  says: string,
  data: Readonly<Record<string, string>>,
  blocked: readonly Field[][],
  admitted: readonly Field[][],
])[] = [
  ["networks", { "block-cidrs": "203.0.113.0/24, 2001:db8::/32,198.51.100.7" }, [
    [["x-forwarded-for", "203.0.113.9"]],
    [["x-forwarded-for", "2001:db8::1"]],
    [["x-forwarded-for", "198.51.100.7"]],
  ], [[], [["x-forwarded-for", "203.0.114.1"]], [["x-forwarded-for", "198.51.100.8"]]]],
  ["a text as User-Agent, whatever its case", { "block-user-agents": "Evil Bot, 'x'" }, [
    [[AGENT, "Evil Bot"]],
    [[AGENT, "EVIL bot"]],
    [[AGENT, "x"]],
    [[AGENT, "good"], [AGENT, "evil bot"]],
  ], [[], [[AGENT, "Evil Bot 2"]], [[AGENT, "an Evil Bot"]], [["referer", "Evil Bot"]]]],
  ["a regular expression with its case", { "block-user-agents": "~^curl/\\d" }, [
    [[AGENT, "curl/8.1"]],
    [[AGENT, "a"], [AGENT, "curl/7"]],
  ], [[[AGENT, "Curl/8.1"]], [[AGENT, "libcurl/8"]], [[AGENT, ""]]]],
  ["a regular expression without its case", { "block-user-agents": "~*bot$,~*^spider,~^a.+z$" }, [
    [[AGENT, "a"], [AGENT, "z"]],
    [[AGENT, "GoogleBOT"]],
    [[AGENT, "Spider 1"]],
    [[AGENT, "x".repeat(9000)]],
  ], [[[AGENT, "bots"]], [[AGENT, "a spider"]], [[AGENT, "a"]], [[AGENT, "x".repeat(8000)]]]],
  ["headers that are too long for the expressions", {
    "block-user-agents": `~^${"[ab]*".repeat(60)}z`,
  }, [
    [[AGENT, "ab".repeat(4000)]],
    [[AGENT, "ab".repeat(1500)], [AGENT, "ba".repeat(1500)]],
  ], [[[AGENT, "ab".repeat(250)]]]],
  ["requests without User-Agent", { "block-user-agents": '""' }, [[], [[AGENT, ""]]], [
    [[AGENT, "a"]],
  ]],
  [
    "an expression that matches nothing, but not requests without the header",
    {
      "block-referers": "~^$",
    },
    [],
    [[], [["referer", ""]], [["referer", "a"]]],
  ],
  ["a Referer", { "block-referers": "~*//([a-z]+\\.)?spam\\.test/, http://x.test/" }, [
    [["referer", "https://WWW.spam.test/a"]],
    [["referer", "http://X.test/"]],
  ], [[], [["referer", "http://x.test/a"]], [[AGENT, "http://x.test/"]]]],
];

for (const [says, data, blocked, admitted] of CASES) {
  Deno.test(`block-*: ${says} get 403, and nothing is forwarded`, async () => {
    const seen: string[] = [];
    await using backend = counting(seen);
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotWith(data, backend.port),
      // Loopback clients are trusted, so the field says who the client is.
      args: ["--allow-loopback-upstreams", "--trusted-proxies=127.0.0.0/8"],
    });
    const port = proxy.httpPort;
    for (const [requests, status] of [[admitted, 200], [blocked, 403]] as const) {
      for (const fields of requests) {
        const shown = JSON.stringify(fields).slice(0, 100);
        for (const [way, ask] of WAYS) {
          // Twice: a verdict is kept.
          assert.equal(await ask(port, HOST, "/", [...fields]), status, `${way} ${shown}`);
          assert.equal(await ask(port, HOST, "/", [...fields]), status, `${way} ${shown}`);
        }
      }
    }
    assert.equal(seen.length, 4 * admitted.length);
  });
}

Deno.test("a client that removes its User-Agent by Connection is blocked nevertheless", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  proxy.server.apply(snapshotWith({ "block-user-agents": "bot" }, backend.port));
  const fields: Field[] = [["user-agent", "bot"], ["connection", "user-agent"]];
  assert.equal(await statusOverHttp1(proxy.port, HOST, "/", fields), 403);
});

Deno.test("block-* come before redirects, lists and logins, and after the limit of bodies", async () => {
  const seen: string[] = [];
  await using backend = counting(seen);
  using proxy = new TestProxy([], {}, { sslRedirect: true, sslRedirectPort: 443 });
  const everybody = { "whitelist-source-range": "127.0.0.0/8", "satisfy": "any" };
  const ingresses: Readonly<Record<string, AnnotatedIngress>> = {
    root: { host: "root.test", annotations: { "app-root": "/app" }, paths: [["/", "Prefix"]] },
    www: {
      host: "w.test",
      annotations: { "from-to-www-redirect": "true" },
      paths: [["/", "Prefix"]],
    },
    moved: {
      host: "moved.test",
      annotations: { "permanent-redirect": "https://new.test" },
      paths: [["/", "Prefix"]],
    },
    https: {
      host: "https.test",
      annotations: { "force-ssl-redirect": "true" },
      paths: [["/", "Prefix"]],
    },
    alias: { host: "b.test", annotations: { "server-alias": "c.test" }, paths: [["/", "Prefix"]] },
    listed: { host: "listed.test", annotations: everybody, paths: [["/", "Prefix"]] },
    any: { annotations: {}, paths: [["/any", "Prefix"]] },
    plain: { host: "plain.test", annotations: {}, paths: [["/", "Prefix"]], isOutside: true },
  };
  proxy.server.apply(snapshotWith({ "block-user-agents": "bot" }, backend.port, ingresses));
  const bot: Field[] = [["user-agent", "bot"]];
  const requests = [
    ["root.test", "/", 302],
    ["www.w.test", "/", 308],
    ["moved.test", "/x", 301],
    ["https.test", "/x", 308],
    ["c.test", "/", 200],
    ["listed.test", "/", 200],
    ["z.test", "/any", 200],
  ] as const;
  for (const [way, ask] of WAYS) {
    for (const [host, path, otherwise] of requests) {
      assert.equal(await ask(proxy.port, host, path, bot), 403, `${way} ${host}`);
      assert.equal(await ask(proxy.port, host, path, []), otherwise, `${way} ${host}`);
    }
    // A class without the profile has no part in it, and no route nothing to protect.
    assert.equal(await ask(proxy.port, "plain.test", "/", bot), 200, way);
    assert.equal(await ask(proxy.port, "none.test", "/", bot), 404, way);
  }
  using client = await Peer.connect(proxy.port);
  const head = "PUT / HTTP/1.1\r\nHost: c.test\r\nUser-Agent: bot\r\n";
  assert.equal(statusOf(await client.ask(`${head}Content-Length: 9000000\r\n\r\n`)), 413);
});

Deno.test("a change of block-* applies to kept connections, and changes no filter set", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  const first = snapshotWith({ "block-user-agents": "a" }, backend.port);
  const second = snapshotWith({ "block-user-agents": "b, c" }, backend.port);
  assert.deepEqual(second.filterSets, first.filterSets);
  using client = await Peer.connect(proxy.port);
  const status = async (agent: string) =>
    statusOf(await client.ask(`GET / HTTP/1.1\r\nHost: ${HOST}\r\nUser-Agent: ${agent}\r\n\r\n`));
  proxy.server.apply(first);
  assert.deepEqual([await status("a"), await status("b"), await status("c")], [403, 200, 200]);
  proxy.server.apply(second);
  assert.deepEqual([await status("a"), await status("b"), await status("c")], [200, 403, 403]);
  proxy.server.apply(snapshotWith({}, backend.port));
  assert.deepEqual([await status("a"), await status("b"), await status("c")], [200, 200, 200]);
});

const BROKEN: readonly (readonly [says: string, blocked: Snapshot["blockedClients"]])[] = [
  ["is missing", undefined],
  ["has an expression that is not linear", {
    userAgents: [{ type: "Regex", value: "(a)\\1" }],
  }],
];

for (const [says, blocked] of BROKEN) {
  Deno.test(`a list of blocked clients that ${says} lets nobody in`, async () => {
    const seen: string[] = [];
    await using backend = counting(seen);
    using proxy = new TestProxy([]);
    const upstreams = [upstreamTo(WEB, [backend.port])];
    const routes = { a: { filters: [{ kind: "blocked-clients" }] }, b: {} } as const;
    const snapshot = filteredSnapshot(routes, upstreams);
    proxy.server.apply({
      ...snapshot,
      ...(blocked === undefined ? {} : { blockedClients: blocked }),
    });
    for (const [way, ask] of WAYS) {
      assert.equal(await ask(proxy.port, HOST, "/a/1", []), 500, way);
      assert.equal(await ask(proxy.port, HOST, "/b/1", []), 200, way);
    }
    assert.deepEqual(seen, ["/b/1", "/b/1"]);
  });
}
