/** What was translated before makes the owners of hosts quicker to find, and nothing else. */
import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { NONE, randomNumbers } from "../../../tests/support/rich_cluster.ts";
import type { Ingress, Namespace, Resources } from "../../kube/resources.ts";
import { translate, type TranslateOptions, type Translation } from "../translator.ts";
import { claimsText, type HostClaims } from "./host_claims.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const OPTIONS: TranslateOptions = {
  ingressClasses: ["pingress"],
  controllerNames: [],
  watchIngressWithoutClass: true,
  defaultBackend: { namespace: "a", name: "web", port: 80 },
  allowExternalName: false,
  acceptUnsupported: [],
  allowAcceptUnsupportedAnnotation: false,
  allowLocalEndpoints: false,
  defaultCertificate: null,
  maxRsaBits: 4096,
  hostOwnership: "namespace",
  version: { epoch: "file", seen: {} },
};
const NAMESPACES = ["a", "b", "c"];
const HOSTS = ["one.test", "two.test", "x.wild.test", "*.wild.test", undefined];
const PATHS = ["/", "/a", "/b"];

/** Random Ingresses of a few namespaces that want the same few hosts. */
class Chaos {
  readonly #random = randomNumbers(13);
  #serial = 0;

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }

  ingress(): Ingress {
    const rules = Array.from({ length: this.below(3) }, () => ({
      host: this.one(HOSTS),
      http: {
        paths: [{
          path: this.one(PATHS),
          pathType: "Prefix",
          backend: { service: { name: "web", port: { number: 80 } } },
        }],
      },
    }));
    const isShared = this.below(5) === 0;
    return {
      metadata: {
        namespace: this.one(NAMESPACES),
        name: `i${this.#serial++}`,
        creationTimestamp: `20${20 + this.below(9)}-01-01T00:00:00Z`,
        ...(this.below(8) === 0 ? { deletionTimestamp: "2029-01-01T00:00:00Z" } : {}),
        ...(isShared
          ? { annotations: { "pingress.io/share-host-with": this.one(NAMESPACES) } }
          : {}),
      },
      spec: {
        rules,
        ...(rules.length === 0 || this.below(6) === 0
          ? { defaultBackend: { service: { name: "web", port: { number: 80 } } } }
          : {}),
        ...(this.below(4) === 0
          ? { tls: [{ hosts: [this.one(HOSTS) ?? "any.test"], secretName: "gone" }] }
          : {}),
      },
    };
  }

  namespaces(): Namespace[] {
    return NAMESPACES.map((name) => ({
      metadata: {
        name,
        creationTimestamp: "2019-01-01T00:00:00Z",
        ...(this.below(6) === 0 ? { deletionTimestamp: "2029-01-01T00:00:00Z" } : {}),
        ...(this.below(4) === 0
          ? { annotations: { "pingress.io/hosts": this.one(HOSTS) ?? "other.test" } }
          : {}),
      },
    }));
  }
}

function textOf({ snapshot, problems, statuses, claims }: Translation): string {
  return [
    serialiseSnapshot(snapshot, { revealKeys: false }),
    JSON.stringify([problems, statuses], null, 1),
    claims === null ? "null" : claimsText(claims),
  ].join("\n");
}

Deno.test("owners computed incrementally equal those computed from scratch", () => {
  const chaos = new Chaos();
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
    const quick = translate(resources, null, options, () => NOW);
    translate(NONE, null, OPTIONS, () => NOW);
    const slow = translate(structuredClone(resources), null, options, () => NOW);
    assert.equal(textOf(quick), textOf(slow), `step ${step}`);
    // The next one begins where the quick one was.
    const again = translate(resources, null, { ...options, claims: quick.claims }, () => NOW);
    assert.equal(textOf(again), textOf(quick), `step ${step}, recorded`);
    claims = quick.claims;
    for (const { namespace } of quick.hostOwners.values()) owned.add(namespace);
  }
  assert.deepEqual([...owned].sort(), NAMESPACES);
});

Deno.test("a remaining owner is never replaced, whatever the others do", () => {
  const chaos = new Chaos();
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
