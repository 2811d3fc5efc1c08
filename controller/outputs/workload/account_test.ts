import { deepEqual, equal, match } from "node:assert/strict";
import type { ApiError, KubeObject } from "../../kube/types.ts";
import { ProxyAccount } from "./account.ts";

const WORKLOAD = { kind: "DaemonSet", namespace: "pingress-system", name: "pingress-proxy-server" };
const BEFORE = live(undefined);
const WITH = live("pingress-proxy-server");

function live(serviceAccountName: string | undefined): KubeObject {
  const spec = { template: { spec: { serviceAccountName } } };
  return { metadata: { name: WORKLOAD.name }, spec } as KubeObject;
}

/** An account whose API server answers with `code`; 0 for no answer. */
function scene() {
  const state = { code: 200, calls: 0, now: 0 };
  const account = new ProxyAccount({
    namespace: WORKLOAD.namespace,
    now: () => state.now,
    client: {
      get<T>() {
        state.calls++;
        const { code } = state;
        const error: ApiError = { code, reason: "", message: "no", retryAfter: null };
        if (code !== 200) return Promise.resolve({ ok: false, error });
        return Promise.resolve({ ok: true, value: { metadata: { name: "x" } } as T });
      },
    },
  });
  return { state, look: (workload: KubeObject | null) => account.look(WORKLOAD, workload) };
}

Deno.test("proxies use the installed service account, which is looked up once a minute", async () => {
  const { state, look } = scene();
  for (const workload of [null, BEFORE, WITH]) {
    deepEqual(await look(workload), { isUsable: true, problem: null, again: null });
  }
  equal(state.calls, 1);
  state.now = 60_000;
  await look(WITH);
  equal(state.calls, 2);
});

for (const [code, why] of [[404, /there is no Serv/], [403, /it cannot be known/]] as const) {
  Deno.test(`with an outdated installation proxies run without the stream: ${code}`, async () => {
    const { state, look } = scene();
    state.code = code;
    for (const workload of [null, BEFORE]) {
      const { isUsable, problem, again } = await look(workload);
      deepEqual([isUsable, again], [false, 10_000]);
      deepEqual([problem?.reason, problem?.severity], ["ProxyAccountMissing", "warning"]);
      match(problem!.message, why);
      match(problem!.message, /through mounted files only/);
    }
    state.code = 200;
    state.now = 10_000;
    deepEqual(await look(BEFORE), { isUsable: true, problem: null, again: null });
  });
}

Deno.test("a deleted service account replaces no proxy, and is an error until it is back", async () => {
  const { state, look } = scene();
  state.code = 404;
  const { isUsable, problem } = await look(WITH);
  deepEqual([isUsable, problem?.severity], [true, "error"]);
  match(problem!.message, /no new proxy can be created; running ones continue/);
});

Deno.test("a revoked permission does not change proxies that have the account", async () => {
  const { state, look } = scene();
  state.code = 403;
  deepEqual(await look(WITH), { isUsable: true, problem: null, again: 10_000 });
});

Deno.test("an API server that does not respond changes nothing", async () => {
  const { state, look } = scene();
  for (const code of [0, 500, 429]) {
    state.code = code;
    deepEqual(await look(null), { isUsable: null, problem: null, again: 1_000 });
  }
  state.code = 200;
  equal((await look(null)).isUsable, true);
  state.code = 0;
  state.now = 120_000;
  equal((await look(null)).isUsable, true);
});
