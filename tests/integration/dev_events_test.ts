/** `deno task dev -o json`: events for programs, a value a line, as their schema says. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Compile } from "typebox/compile";
import { DEV_JSON } from "../../cli/dev/dev_schema.ts";
import { FREE_PORTS, get, manifest, Output, spawn, withFolder } from "../support/dev_process.ts";

const SCHEMA = Compile(DEV_JSON);

interface DevEvent {
  readonly v: number;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** Every line of it is an event. */
function eventsOf(text: string): readonly DevEvent[] {
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

const FIRST = `${manifest("a.example.com")}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: lost }
spec:
  rules:
    - host: lost.example.com
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: none, port: { number: 80 } } } }
`;

Deno.test("dev -o json prints an event a line from the start to the end", async () => {
  await withFolder({ "a.yaml": FIRST }, async (folder) => {
    const process = spawn("dev", [folder, "-o", "json", "--tap", ...FREE_PORTS]);
    const output = new Output(process.stdout);
    const errors = new Output(process.stderr);
    try {
      await output.match(/"event":"problem"/);
      const [started] = eventsOf((await output.match(/^\{"v":1,"event":"started".*\n/))[0]);
      const [http] = started.http as string[];
      const port = Number(new URL(http).port);
      assert.equal((await get(port, "a.example.com", "/x?secret=1")).status, 200);
      assert.equal((await get(port, "nobody.example.com", "/")).status, 404);
      assert.equal((await get(port, "lost.example.com", "/")).status, 503);
      await output.match(/"host":"lost.example.com","path":"\/","status":503/);
      await Deno.writeTextFile(join(folder, "a.yaml"), manifest("b.example.com"));
      await output.match(/"event":"changed"/);
    } finally {
      process.kill("SIGTERM");
    }
    assert.equal((await process.status).code, 0);
    assert.equal(await errors.all(), "");
    const text = await output.all();
    assert.ok(!text.includes("secret"));
    const events = eventsOf(text);
    for (const event of events) assert.deepEqual([...SCHEMA.Errors(event)], [], event.event);
    const named = (name: string) => events.filter(({ event }) => event === name);
    assert.deepEqual(events.slice(0, 2).map(({ event }) => event), ["started", "served"]);
    assert.equal(events.at(-1)!.event, "stopped");
    const [served] = named("served");
    assert.deepEqual(
      (served.routes as { readonly host: string }[]).map(({ host }) => host).sort(),
      ["a.example.com", "lost.example.com"],
    );
    assert.equal(served.problems, named("problem").length);
    const requests = named("request").map(({ host, status, upstream, error }) => [
      ...[host, status, upstream, error],
    ]);
    assert.deepEqual(requests, [
      ["a.example.com", 200, "default/web:80", null],
      ["nobody.example.com", 404, null, "no_route"],
      ["lost.example.com", 503, null, "no_endpoint"],
    ]);
    const [changed] = named("changed");
    assert.deepEqual(
      (changed.routes as { readonly kind: string }[]).map(({ kind }) => kind).sort(),
      ["changed", "removed"],
    );
    assert.equal((changed.mended as unknown[]).length, 1);
    assert.equal(changed.problems, 0);
  });
});

Deno.test("dev -o json writes log entries to standard error, and nothing but events to its output", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com") }, async (folder) => {
    const process = spawn("dev", [folder, "-ojson", "--log-level=debug", ...FREE_PORTS]);
    const output = new Output(process.stdout);
    const errors = new Output(process.stderr);
    const [, port] = await output.match(/"http":\["http:\/\/127\.0\.0\.1:(\d+)"/);
    await get(Number(port), "nobody.example.com", "/");
    await output.match(/"event":"served"/);
    process.kill("SIGINT");
    assert.equal((await process.status).code, 0);
    for (const { v, event } of eventsOf(await output.all())) {
      assert.deepEqual([v, typeof event], [1, "string"]);
    }
    for (const line of (await errors.all()).split("\n").filter((each) => each !== "")) {
      assert.match(line, /^\d{4}-\d\d-\d\dT/);
    }
  });
});
