/** What was translated before makes the owners of hosts quicker to find, and nothing else. */
import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { NAMESPACES, RandomIngresses } from "../../../tests/support/random_ingresses.ts";
import { NONE } from "../../../tests/support/rich_cluster.ts";
import type { Ingress, Resources } from "../../kube/resources.ts";
import { translate, type TranslateOptions, type Translation, Translator } from "../translator.ts";
import { claimsText, type HostClaims } from "./host_claims.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  watchIngressWithoutClass: true,
  defaultBackend: { namespace: "a", name: "web", port: 80 },
  maxRsaBits: 4096,
  version: { epoch: "file", seen: {} },
};
function textOf({ snapshot, problems, statuses, claims }: Translation): string {
  return [
    serialiseSnapshot(snapshot, { revealKeys: false }),
    JSON.stringify([problems, statuses], null, 1),
    claims === null ? "null" : claimsText(claims),
  ].join("\n");
}

Deno.test("owners computed incrementally equal those computed from scratch", () => {
  const chaos = new RandomIngresses(13);
  // Many that nothing happens to: only then is a change a small one.
  const still = Array.from({ length: 40 }, (_, i): Ingress => ({
    metadata: { namespace: "a", name: `still-${i}`, creationTimestamp: "2020-01-01T00:00:00Z" },
    spec: { rules: [{ host: `still-${i}.test` }] },
  }));
  let ingresses: readonly Ingress[] = [
    ...still,
    ...Array.from({ length: 8 }, () => chaos.ingress()),
  ];
  let namespaces = chaos.namespaces();
  let claims: HostClaims | null = null;
  const owned = new Set<string>();
  const translator = new Translator();
  for (let step = 0; step < 600; step++) {
    const at = still.length + chaos.below(Math.max(1, ingresses.length - still.length));
    const kind = chaos.below(10);
    if (kind < 3) ingresses = [...ingresses, chaos.ingress()];
    else if (kind < 6) ingresses = ingresses.filter((_, i) => i !== at);
    else if (kind < 9) ingresses = ingresses.map((one, i) => i === at ? chaos.ingress() : one);
    else namespaces = chaos.namespaces();
    if (ingresses.length > still.length + 14) ingresses = ingresses.slice(0, -3);
    const resources: Resources = { ...NONE, ingresses, namespaces };
    const options = { ...OPTIONS, claims };
    const quick = translator.translate(resources, null, options, () => NOW);
    const slow = translate(structuredClone(resources), null, options, () => NOW);
    assert.equal(textOf(quick), textOf(slow), `step ${step}`);
    // The next one begins where the quick one was.
    const recorded = { ...options, claims: quick.claims };
    const again = translator.translate(resources, null, recorded, () => NOW);
    assert.equal(textOf(again), textOf(quick), `step ${step}, recorded`);
    claims = quick.claims;
    for (const { namespace } of quick.hostOwners.values()) owned.add(namespace);
  }
  assert.deepEqual([...owned].sort(), NAMESPACES);
});

Deno.test("a remaining owner is never replaced, whatever the others do", () => {
  const chaos = new RandomIngresses(13);
  const own: Ingress = {
    metadata: { namespace: "owner", name: "own", creationTimestamp: "2028-01-01T00:00:00Z" },
    spec: { rules: [{ host: "one.test" }, { host: "*.wild.test" }] },
  };
  const first = translate({ ...NONE, ingresses: [own] }, null, OPTIONS, () => NOW);
  let claims = first.claims;
  for (let step = 0; step < 300; step++) {
    const ingresses = [own, ...Array.from({ length: 10 }, () => chaos.ingress())];
    const { snapshot, hostOwners, ...rest }: Translation = translate(
      { ...NONE, ingresses },
      null,
      { ...OPTIONS, claims },
      () => NOW,
    );
    claims = rest.claims;
    for (const host of ["one.test", "*.wild.test"]) {
      assert.equal(hostOwners.get(host)?.namespace, "owner");
      const others = snapshot.routes.filter((route) =>
        route.host === host && route.origin.namespace !== "owner"
      );
      assert.deepEqual(others, []);
    }
  }
});

Deno.test("an Ingress that cannot be translated keeps the hosts of its namespace", () => {
  const ingress = (namespace: string): Ingress => ({
    metadata: { namespace, name: "web", creationTimestamp: "2020-01-01T00:00:00Z" },
    spec: { rules: [{ host: "one.test" }] },
  });
  const { claims } = translate(
    { ...NONE, ingresses: [ingress("owner")] },
    null,
    OPTIONS,
    () => NOW,
  );
  const without = translate(
    { ...NONE, ingresses: [ingress("other")] },
    null,
    { ...OPTIONS, claims, keptNamespaces: new Set(["owner"]) },
    () => NOW,
  );
  assert.equal(without.hostOwners.get("one.test")?.namespace, "owner");
  assert.equal(without.claims?.get("one.test")?.[0].namespace, "owner");
});

Deno.test("an alias that was served stays its namespace's when ownership is turned on", () => {
  const ingress = (namespace: string, host: string, age: string, annotations = {}): Ingress => ({
    metadata: { namespace, name: "web", creationTimestamp: age, annotations },
    spec: { rules: [{ host }] },
  });
  const options: TranslateOptions = {
    ...OPTIONS,
    ingressClasses: ["nginx"],
    nginxClasses: ["nginx"],
  };
  const own = ingress("owner", "one.test", "2025-01-01T00:00:00Z", {
    "nginx.ingress.kubernetes.io/server-alias": "www.one.test",
  });
  const { snapshot } = translate(
    { ...NONE, ingresses: [own] },
    null,
    { ...options, hostOwnership: "shared" },
    () => NOW,
  );
  const later = translate(
    { ...NONE, ingresses: [own, ingress("other", "www.one.test", "2020-01-01T00:00:00Z")] },
    snapshot,
    { ...options, claims: null },
    () => NOW,
  );
  assert.equal(later.hostOwners.get("www.one.test")?.namespace, "owner");
  assert.deepEqual(later.claims?.get("www.one.test")?.map(({ namespace }) => namespace), [
    "owner",
    "other",
  ]);
});
