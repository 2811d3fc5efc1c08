import assert from "node:assert/strict";
import { SampleBackends } from "./backend.ts";

async function withSamples(use: (samples: SampleBackends) => Promise<void>): Promise<void> {
  const samples = new SampleBackends();
  try {
    await use(samples);
  } finally {
    await samples.close();
  }
}

Deno.test("a response has the pod, the Service and the received request", async () => {
  await withSamples(async (samples) => {
    const [one, two] = samples.endpointsFor("shop", "web");
    const headers = { accept: "application/json", "x-mine": "yes" };
    const first = await fetch(`http://${one.address}:${one.port}/a/b?c=d`, { headers });
    const told = await first.json();
    assert.equal(told.backend, "one");
    assert.equal(told.service, "shop/web");
    assert.equal(told.method, "GET");
    assert.equal(told.path, "/a/b?c=d");
    assert.equal(told.headers["x-mine"], "yes");
    assert.equal(told.bodyBytes, 0);
    const second = await fetch(`http://${two.address}:${two.port}/`, {
      method: "DELETE",
      body: "abc",
    });
    const text = await second.text();
    assert.match(text, /^Sample backend two, in place of a pod of shop\/web\n\nDELETE \/\n/);
    assert.match(text, /\n3 bytes of body\n/);
  });
});

Deno.test("a browser gets a page in which nothing of the request is markup", async () => {
  await withSamples(async (samples) => {
    const [one] = samples.endpointsFor("shop", "web");
    const response = await fetch(`http://${one.address}:${one.port}/`, {
      headers: { accept: "text/html,application/xhtml+xml", "x-mine": "<script>1</script>" },
    });
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    const page = await response.text();
    assert.match(page, /<h1>Sample backend one<\/h1>/);
    assert.ok(page.includes("&#60;script&#62;"));
    assert.ok(!page.includes("<script"));
  });
});

Deno.test("a posted body is echoed unchanged, at any path", async () => {
  await withSamples(async (samples) => {
    const [one] = samples.endpointsFor("shop", "web");
    const body = crypto.getRandomValues(new Uint8Array(50_000));
    const response = await fetch(`http://${one.address}:${one.port}/any/where`, {
      method: "POST",
      body,
      headers: { "content-type": "image/x-mine" },
    });
    assert.equal(response.headers.get("content-type"), "image/x-mine");
    assert.equal(response.headers.get("x-sample-backend"), "one");
    assert.equal(response.headers.get("x-sample-service"), "shop/web");
    assert.deepEqual(await response.bytes(), body);
  });
});

Deno.test("a Service keeps its two ports, and from a hundred Services on they share ports", async () => {
  await withSamples(async (samples) => {
    const first = samples.endpointsFor("shop", "web");
    assert.equal(first.length, 2);
    assert.deepEqual(samples.endpointsFor("shop", "web"), first);
    for (let i = 1; i < 100; i++) {
      assert.notDeepEqual(samples.endpointsFor("shop", `s${i}`), first);
    }
    const shared = samples.endpointsFor("shop", "one-more");
    assert.deepEqual(samples.endpointsFor("shop", "and-another"), shared);
    const text = await (await fetch(`http://${shared[0].address}:${shared[0].port}/`)).text();
    assert.match(text, /^Sample backend one\n/);
  });
});

Deno.test("a sample backend admits no request that it is asked about by auth-url", async () => {
  await withSamples(async (samples) => {
    const [one] = samples.endpointsFor("shop", "login");
    const headers = { "x-sent-from": "nginx-ingress-controller" };
    for (const method of ["GET", "POST"]) {
      const response = await fetch(`http://${one.address}:${one.port}/auth`, { method, headers });
      assert.equal(response.status, 401);
      assert.match(await response.text(), /--map shop\/login=127\.0\.0\.1:PORT\n$/);
    }
  });
});
