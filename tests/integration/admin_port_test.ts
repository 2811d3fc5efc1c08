/** The admin port of a running proxy: what it shows, to whom, and what it shows nobody. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Redacted } from "../../shared/redacted.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const GOLDEN = join(import.meta.dirname!, "..", "golden", "certificates");

/** An IPv4 address of this machine that is not loopback; null where it has none. */
function outerAddress(): string | null {
  const found = Deno.networkInterfaces().find(({ family, address }) =>
    family === "IPv4" && !address.startsWith("127.")
  );
  return found?.address ?? null;
}

function snapshotWithKey(): { snapshot: Snapshot; key: string } {
  const key = Deno.readTextFileSync(join(GOLDEN, "app.key"));
  const origin = { kind: "Secret", namespace: "test", name: "app", field: "data" };
  const base = snapshotOf([{ address: "10.9.8.7", port: 80 }]);
  const snapshot: Snapshot = {
    ...base,
    routes: [{ ...base.routes[0], id: "app.example.com Prefix /", host: "app.example.com" }],
    certificates: [{
      id: "test/app",
      hosts: ["app.example.com"],
      chain: { kind: "pem", pem: Deno.readTextFileSync(join(GOLDEN, "app.crt")) },
      key: { kind: "secret", pem: new Redacted(key) },
      origin,
    }],
  };
  return { snapshot, key };
}

Deno.test("/explain shows which setting redirects plain HTTP, or keeps it", async () => {
  const { snapshot } = snapshotWithKey();
  const hostSettings = [{ id: "app.example.com", httpsRedirect: false }];
  await using proxy = await ProxyProcess.start({ snapshot: { ...snapshot, hostSettings } });
  const explained = async (scheme: string, accept: string) => {
    const url = encodeURIComponent(`${scheme}://app.example.com/x`);
    return (await proxy.admin(`/explain?url=${url}`, { accept })).text;
  };
  const line = /^Redirect: none, as the settings of host app\.example\.com say no redirect$/m;
  assert.match(await explained("http", "text/plain"), line);
  assert.doesNotMatch(await explained("https", "text/plain"), /^Redirect/m);
  const { redirect, redirectBy, redirectBecause } = JSON.parse(
    await explained("http", "application/json"),
  );
  assert.deepEqual([redirect, redirectBy, redirectBecause], [
    null,
    "host",
    "the settings of host app.example.com say no redirect",
  ]);
});

Deno.test("/snapshot and /explain show the active snapshot, and no key is shown or logged", async () => {
  const { snapshot, key } = snapshotWithKey();
  for (const workers of [1, 2]) {
    const args = [`--workers=${workers}`, "--log-level=debug"];
    await using proxy = await ProxyProcess.start({ snapshot, args });
    const shown = await proxy.admin("/snapshot");
    assert.equal(shown.status, 200);
    const { version, snapshot: inForce } = JSON.parse(shown.text);
    assert.deepEqual(version, snapshot.version);
    assert.deepEqual(inForce.routes, snapshot.routes);
    assert.equal(inForce.certificates[0].id, "test/app");
    const url = encodeURIComponent("https://app.example.com/x");
    const explained = await proxy.admin(`/explain?url=${url}`);
    assert.equal(explained.status, 200);
    assert.match(explained.text, /^Route: app\.example\.com Prefix \/$/m);
    assert.match(explained.text, /^Certificate: test\/app, since /m);
    const plain = encodeURIComponent("http://app.example.com/x");
    const redirected = (await proxy.admin(`/explain?url=${plain}`)).text;
    const [, location] = redirected.match(/^Redirect: 308 to (\S+),/m) ?? [];
    using client = await Deno.connect({ hostname: "127.0.0.1", port: proxy.httpPort });
    const request = "GET /x HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n";
    await client.write(new TextEncoder().encode(request));
    const response = await new Response(client.readable).text();
    assert.match(response, /^HTTP\/1\.1 308 /);
    assert.match(response, new RegExp(`^Location: ${location}\r$`, "m"));
    assert.doesNotMatch(explained.text, /^Redirect:/m);
    assert.equal((await proxy.admin("/explain")).status, 400);
    const metrics = await proxy.admin("/metrics");
    assert.match(metrics.text, /^pingress_connections_total /m);
    // A broken pair is told of without its bytes too.
    const [certificate] = snapshot.certificates;
    const other = Deno.readTextFileSync(join(GOLDEN, "two.crt"));
    const broken = { kind: "pem" as const, pem: other };
    await proxy.replace({ ...snapshot, certificates: [{ ...certificate, chain: broken }] });
    await proxy.line("Certificate rejected");
    const after = await proxy.admin("/snapshot");
    const log = JSON.stringify(proxy.lines);
    for (const secret of key.split("\n").filter((line) => line !== "" && !line.includes("---"))) {
      for (const text of [shown.text, explained.text, metrics.text, after.text, log]) {
        assert.ok(!text.includes(secret), text);
      }
    }
  }
});

Deno.test("peers from elsewhere get health and metrics, and nothing else", async () => {
  const address = outerAddress();
  if (address === null) {
    console.log("skipped: admin port from elsewhere: no network interface but loopback");
    return;
  }
  const { snapshot } = snapshotWithKey();
  const args = ["--admin=0.0.0.0:0", "--workers=2"];
  await using proxy = await ProxyProcess.start({ snapshot, args });
  const statusFrom = async (host: string, path: string) => {
    const response = await fetch(`http://${host}:${proxy.adminPort}${path}`);
    const text = await response.text();
    if (response.status === 403) assert.match(text, /kubectl port-forward/);
    return response.status;
  };
  const explain = "/explain?url=http%3A%2F%2Fa%2F";
  for (
    const [path, outside, inside] of [
      ["/healthz", 200, 200],
      ["/readyz", 200, 200],
      ["/metrics", 200, 200],
      ["/snapshot", 403, 200],
      [explain, 403, 200],
      ["/", 404, 404],
      ["//snapshot", 404, 404],
      ["/snapshot/", 404, 404],
    ] as const
  ) {
    // Who dials an address of this machine comes from that address.
    assert.equal(await statusFrom(address, path), outside, path);
    assert.equal(await statusFrom("127.0.0.1", path), inside, path);
  }
});

Deno.test("--merge-slashes and --refuse-escaped-slashes apply in every worker and in /explain", async () => {
  const { snapshot } = snapshotWithKey();
  const args = ["--workers=2", "--merge-slashes", "--refuse-escaped-slashes"];
  await using proxy = await ProxyProcess.start({ snapshot, args });
  const answerTo = async (path: string) => {
    using client = await Deno.connect({ hostname: "127.0.0.1", port: proxy.httpPort });
    const request = `GET ${path} HTTP/1.1\r\nHost: app.example.com\r\nConnection: close\r\n\r\n`;
    await client.write(new TextEncoder().encode(request));
    return await new Response(client.readable).text();
  };
  const explained = async (path: string) => {
    const url = encodeURIComponent(`https://app.example.com${path}`);
    return (await proxy.admin(`/explain?url=${url}`)).text;
  };
  assert.match(await answerTo("//x"), /^Location: https:\/\/app\.example\.com(:\d+)?\/x\r$/m);
  assert.match(await answerTo("/a%2fb"), /^HTTP\/1\.1 400 /);
  assert.match(await explained("//x"), /matched as \/x$/m);
  assert.match(await explained("/a%2fb"), /the path has an escaped slash or backslash/);
});
