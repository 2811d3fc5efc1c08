import { equal, ok } from "node:assert/strict";
import { silentLogger } from "../../../shared/log.ts";
import { ManualTime } from "../../../tests/support/manual_time.ts";
import { ObjectStore } from "../../kube/store.ts";
import { HTTP_ROUTES, type KubeObject } from "../../kube/types.ts";
import { GatewayStatusWriter, ROUTE_PACE } from "./writer.ts";

type Route = KubeObject & { readonly status?: unknown };

/** How often a route is written whose status is to be another one every so many ms. */
async function writesOf(
  { times, every, generationOf, contentOf }: {
    readonly times: number;
    readonly every: number;
    readonly generationOf: (i: number) => number;
    readonly contentOf: (i: number) => number;
  },
): Promise<{ readonly writes: number; readonly shown: unknown }> {
  const time = new ManualTime();
  const objects = new ObjectStore<Route>();
  let version = 0;
  let writes = 0;
  const put = (generation: number, status: unknown) => {
    const metadata = { name: "web", namespace: "shop", uid: "1", generation };
    const object = { metadata: { ...metadata, resourceVersion: String(++version) }, status };
    objects.put(object);
    return object;
  };
  const writer = new GatewayStatusWriter({
    ...{ resource: HTTP_ROUTES, objects, log: silentLogger, pace: ROUTE_PACE },
    ...{ clock: time.clock, after: time.after, fence: { mayWrite: () => true } },
    client: {
      patch: (_resource, _namespace, _name, body) => {
        writes++;
        const { status } = body as { readonly status: unknown };
        const { generation } = objects.get("shop", "web")!.metadata;
        const value = put(generation!, status);
        return Promise.resolve({ ok: true, value } as never);
      },
    },
  });
  for (let i = 0; i < times; i++) {
    const [generation, content] = [generationOf(i), contentOf(i)];
    put(generation, objects.get("shop", "web")?.status);
    const change = (status: unknown) =>
      (status as { content?: unknown })?.content === content
        ? null
        : { fields: { content }, isCountOnly: false };
    writer.sync(new Map([["shop/web", { generation, content, change }]]));
    await time.pass(every);
  }
  await time.pass(60_000);
  await writer.close();
  return { writes, shown: (objects.get("shop", "web")!.status as { content: unknown }).content };
}

const SECOND = 1_000;
const always = () => 1;
const each = (i: number) => i;

Deno.test("a status that alternates by itself is written less and less often, and the last one is shown", async () => {
  const times = 601;
  const alternating = { times, every: SECOND / 2, generationOf: always };
  for (const contentOf of [(i: number) => i % 2, (i: number) => i % 3, each]) {
    const { writes, shown } = await writesOf({ ...alternating, contentOf });
    ok(writes <= 24, `${writes} writes in 5 minutes`);
    equal(shown, contentOf(times - 1));
  }
});

Deno.test("a status that changes with what its owner writes is written each time", async () => {
  const { writes } = await writesOf({
    ...{ times: 100, every: SECOND, generationOf: (i) => i + 1, contentOf: each },
  });
  equal(writes, 100);
});

Deno.test("a status that changes every two minutes is written each time", async () => {
  const { writes } = await writesOf({
    ...{ times: 30, every: 120 * SECOND, generationOf: always, contentOf: each },
  });
  equal(writes, 30);
});
