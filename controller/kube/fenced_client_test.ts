import assert from "node:assert/strict";
import { FencedClient, NOT_LEADING, type WriteClient } from "./fenced_client.ts";
import type { ApiResult, KubeObject } from "./types.ts";
import { CONFIG_MAPS } from "./types.ts";

/** What was called, and with which limits. */
interface Call {
  readonly verb: string;
  readonly deadline: number | undefined;
  readonly signal: AbortSignal | undefined;
}

function scene(left: number) {
  const calls: Call[] = [];
  const stop = new AbortController();
  const note = (verb: string) => (...args: unknown[]) => {
    const { deadline, signal } = (args.at(-1) ?? {}) as Partial<Call>;
    calls.push({ verb, deadline, signal });
    return Promise.resolve({ ok: true, value: object } as ApiResult<KubeObject>);
  };
  const client = {
    get: note("get"),
    create: note("create"),
    update: note("update"),
    apply: note("apply"),
    patch: note("patch"),
    delete: note("delete"),
  } as unknown as WriteClient;
  const fenced = new FencedClient(client, {
    mayWrite: () => left > 0,
    writeDeadline: () => left,
    writeSignal: () => stop.signal,
  });
  return { fenced, calls, stop };
}

const object: KubeObject = { metadata: { name: "a", namespace: "b" } };

const WRITES: Readonly<Record<string, (client: FencedClient) => Promise<ApiResult<KubeObject>>>> = {
  create: (client) => client.create(CONFIG_MAPS, object),
  update: (client) => client.update(CONFIG_MAPS, object),
  apply: (client) => client.apply(CONFIG_MAPS, object),
  patch: (client) => client.patch(CONFIG_MAPS, "b", "a", [], { type: "json" }),
  delete: (client) => client.delete(CONFIG_MAPS, "b", "a"),
};

for (const [verb, write] of Object.entries(WRITES)) {
  Deno.test(`a replica that does not lead cannot ${verb}`, async () => {
    const { fenced, calls } = scene(0);
    const result = await write(fenced);
    assert.equal(!result.ok && result.error.reason, NOT_LEADING);
    assert.deepEqual(calls, []);
  });

  Deno.test(`a leader's ${verb} is aborted before another replica may lead`, async () => {
    const { fenced, calls, stop } = scene(700);
    assert.ok((await write(fenced)).ok);
    assert.equal(calls[0].verb, verb);
    assert.equal(calls[0].deadline, 700);
    stop.abort();
    assert.equal(calls[0].signal?.aborted, true);
  });
}

Deno.test("every replica may read", async () => {
  const { fenced, calls } = scene(0);
  assert.ok((await fenced.get(CONFIG_MAPS, "b", "a")).ok);
  assert.equal(calls.length, 1);
});
