import assert from "node:assert/strict";
import { silentLogger } from "../../shared/log.ts";
import type { KubeSecret, Resources } from "../kube/resources.ts";
import type { WatchedKind } from "./replica_catch_up.ts";
import { Reconciler, type Reconciliation } from "./reconciler.ts";
import type { Translate } from "./quarantine.ts";
import {
  DEFAULT_GATEWAY_OPTIONS,
  type GatewayOptions,
} from "../translate/gateway/gateway_translator.ts";
import { Translator } from "../translate/translator.ts";
import { TRANSLATE_OPTIONS } from "../../tests/support/translate_options.ts";

/** One that is there and never changes. */
function still(kind: string): WatchedKind {
  return {
    kind,
    isSynced: true,
    seen: "1",
    revision: "1",
    relist: () => Promise.reject(new Error("Nothing is to be listed anew")),
  };
}

function pem(name: string): string {
  return Deno.readTextFileSync(new URL(`../../tests/golden/certificates/${name}`, import.meta.url));
}

const SECRET: KubeSecret = {
  metadata: { namespace: "default", name: "web" },
  type: "kubernetes.io/tls",
  data: { "tls.crt": btoa(pem("app.crt")), "tls.key": btoa(pem("app.key")) },
};

const RESOURCES: Resources = {
  ingresses: [{
    metadata: { namespace: "default", name: "web" },
    spec: {
      ingressClassName: "pingress",
      rules: [{ host: "app.example.com" }],
      tls: [{ hosts: ["app.example.com"], secretName: "web" }],
    },
  }],
  ingressClasses: [],
  services: [],
  endpointSlices: [],
  secrets: [SECRET],
};

/** Of a reconciler that publishes nothing, without waiting. */
function reconcilerOptions(gateway: GatewayOptions | null) {
  const translator = new Translator();
  return {
    epoch: "uid",
    parameters: null,
    isSynced: () => true,
    resources: () => RESOURCES,
    published: () => ({ snapshot: null, version: null, digest: null }),
    translate: (...inputs: Parameters<Translate>) => translator.translate(...inputs),
    translateOptions: { ...TRANSLATE_OPTIONS, controllerNames: [], gateway },
    clock: Date.now,
    gatherTime: 0,
    gatherLimit: 0,
    log: silentLogger,
    onResult: (_: Reconciliation) => {},
  };
}

/** A reconciler of kinds that can be listed anew or not. */
function confirming(areOthersListed: boolean, areGatewaysListed: boolean): Reconciler {
  const kind = (kind: string, isListed: boolean, isOfGateways: boolean): WatchedKind => ({
    ...still(kind),
    isOfGateways,
    relist: () =>
      Promise.resolve(
        isListed ? { ok: true } : {
          ok: false,
          error: { code: 500, reason: "InternalError", message: "no list", retryAfter: null },
        },
      ),
  });
  const secrets = kind("Secret", true, false);
  return new Reconciler({
    ...reconcilerOptions(DEFAULT_GATEWAY_OPTIONS),
    kinds: [
      kind("Ingress", areOthersListed, false),
      kind("Gateway", true, true),
      kind("HTTPRoute", areGatewaysListed, true),
    ],
    secrets: {
      objects: { ...secrets, want: () => {}, settled: () => Promise.resolve(true) },
      references: () => new Set(),
    },
  });
}

Deno.test("a loss of Ingresses is confirmed although Gateway API cannot be listed", async () => {
  const known = confirming(true, true);
  assert.notEqual((await known.confirm())?.gateway, null);
  const unknown = confirming(true, false);
  const result = await unknown.confirm();
  // What is published of Gateways stays, and is not translated.
  assert.deepEqual([result?.gateway, result?.behind], [null, []]);
  const nothing = confirming(false, true);
  assert.equal(await nothing.confirm(), null);
  for (const reconciler of [known, unknown, nothing]) await reconciler.stop();
});

Deno.test("an expiring certificate is reported, although no object changes", async () => {
  const results: Reconciliation[] = [];
  const reasons = () => results.at(-1)?.problems.map(({ reason }) => reason) ?? [];
  let now = Date.parse("2119-12-31T00:00:00Z");
  let wake = () => {};
  const next = () => new Promise<void>((resolve) => wake = resolve);
  const reconciler = new Reconciler({
    ...reconcilerOptions(null),
    kinds: [still("Ingress")],
    secrets: {
      objects: { ...still("Secret"), want: () => {}, settled: () => Promise.resolve(true) },
      references: () => new Set(["default/web"]),
    },
    clock: () => now,
    reviewInterval: 1,
    onResult(result) {
      results.push(result);
      wake();
    },
  });
  const first = next();
  reconciler.changed();
  await first;
  assert.equal(reasons().includes("CertificateExpired"), false);
  now = Date.parse("2120-12-31T00:00:00Z");
  // The run that is under way may have asked for the time before.
  await next();
  await next();
  assert.equal(reasons().filter((reason) => reason === "CertificateExpired").length, 2);
  assert.equal(results[0].snapshot.certificates[0], results.at(-1)!.snapshot.certificates[0]);
  await reconciler.stop();
});
