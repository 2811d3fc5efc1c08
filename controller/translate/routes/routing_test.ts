/** Routes that are built for what changed are those that building all gives. */
import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { NAMESPACES, RandomIngresses } from "../../../tests/support/random_ingresses.ts";
import { NONE, service, slice } from "../../../tests/support/rich_cluster.ts";
import type { Ingress, Resources } from "../../kube/resources.ts";
import { BackendResolver } from "../backends/backend.ts";
import type { HostClaims } from "../hosts/host_claims.ts";
import { ObjectReaders } from "../memory.ts";
import { type TranslateOptions, type Translation, Translator } from "../translator.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  controllerNames: [],
  watchIngressWithoutClass: true,
  defaultBackend: { namespace: "a", name: "web", port: 80 },
  acceptUnsupported: ["auth-tls-secret"],
  maxRsaBits: 4096,
  version: { epoch: "file", seen: {} },
};
/** So many that a few Ingresses share each, and groups stay small. */
const HOSTS = Array.from(
  { length: 24 },
  (_, i) => i % 4 === 0 ? `*.w${i}.test` : i % 4 === 1 ? `www.h${i + 1}.test` : `h${i}.test`,
);
const STEPS = 1_000;
/** Ingresses that nothing happens to: only then is a change a small one. */
const STILL = 200;

for (const hostOwnership of ["namespace", "shared"] as const) {
  Deno.test(`${STEPS} incremental changes give the routes, problems and statuses of a full build, host ownership ${hostOwnership}`, () => {
    const random = new RandomIngresses(7, HOSTS);
    const rebuilds = countRebuilds();
    let ingresses: readonly Ingress[] = [
      ...Array.from({ length: STILL }, (_, i) => still(i)),
      ...Array.from({ length: 24 }, () => random.ingress()),
    ];
    let namespaces = random.namespaces();
    let isServed = true;
    let claims: HostClaims | null = null;
    const translator = new Translator();
    // Of single objects, for those that build all: what readers remember is the subject of translator_memory_test.ts.
    const readers = new ObjectReaders();
    try {
      for (let step = 0; step < STEPS; step++) {
        const at = STILL + random.below(Math.max(1, ingresses.length - STILL));
        const kind = random.below(40);
        if (kind < 12) ingresses = [...ingresses, random.ingress()];
        else if (kind < 24) ingresses = ingresses.filter((_, i) => i !== at);
        else if (kind < 37) {
          ingresses = ingresses.map((one, i) => i === at ? random.ingress() : one);
        } else if (kind < 39) isServed = !isServed;
        else namespaces = random.namespaces();
        if (ingresses.length > STILL + 40) ingresses = ingresses.slice(0, -3);
        const resources: Resources = {
          ...NONE,
          ingresses,
          namespaces,
          services: NAMESPACES.flatMap((name) => [service("web", name), service("api", name)]),
          endpointSlices: NAMESPACES.flatMap((name, i) => [
            slice("web", name, "web-1", [`10.0.${i}.1`]),
            ...(isServed ? [slice("api", name, "api-1", [`10.1.${i}.1`])] : []),
          ]),
        };
        const options = { ...OPTIONS, hostOwnership, claims };
        rebuilds.isCounting = true;
        const changed = translator.translate(resources, null, options, () => NOW);
        rebuilds.isCounting = false;
        const whole = new Translator(readers).translate(resources, null, options, () => NOW);
        const found = differencesOf(changed, whole);
        assert.deepEqual(found.slice(0, 3), [], `step ${step}`);
        // Somebody else may record claims in another order: hosts change hands, and nothing else.
        claims = random.below(20) === 0 ? reversed(changed.claims) : changed.claims;
      }
    } finally {
      rebuilds.end();
    }
    // Else nothing was compared: changes of Namespaces, of default backends and of what Services
    // answer build all routes anew, and no others.
    assert.ok(rebuilds.count < STEPS / 3, `${rebuilds.count} of ${STEPS} built all`);
  });
}

/** The `i`th that nothing happens to. */
function still(i: number): Ingress {
  return {
    metadata: { namespace: "a", name: `still-${i}`, creationTimestamp: "2020-01-01T00:00:00Z" },
    spec: { rules: [{ host: `still-${i}.test` }] },
  };
}

function reversed(claims: HostClaims | null): HostClaims | null {
  return claims === null
    ? null
    : new Map([...claims].map(([host, list]) => [host, [...list].reverse()]));
}

/** Counts how often all routes are built: only then is what was resolved forgotten. */
function countRebuilds(): { count: number; isCounting: boolean; end(): void } {
  const { forget } = BackendResolver.prototype;
  const counter = {
    count: 0,
    isCounting: false,
    end: () => void (BackendResolver.prototype.forget = forget),
  };
  BackendResolver.prototype.forget = function (this: BackendResolver) {
    if (counter.isCounting) counter.count++;
    forget.call(this);
  };
  return counter;
}

/** Routes, statuses and problems that are in one alone, as text. */
function differencesOf(a: Translation, b: Translation): string[] {
  if (textOf(a) === textOf(b)) return [];
  const parts = ({ snapshot, problems, statuses }: Translation) =>
    new Set(
      [...snapshot.routes, ...snapshot.upstreams, ...problems, ...statuses].map((part) =>
        JSON.stringify(part)
      ),
    );
  const [ofA, ofB] = [parts(a), parts(b)];
  const found = [...ofA.symmetricDifference(ofB)].map((text) =>
    `${ofA.has(text) ? "one by one" : "at once"}: ${text}`
  );
  return found.length > 0 ? found : ["the same parts in another order"];
}

function textOf({ snapshot, problems, statuses }: Translation): string {
  return [
    serialiseSnapshot(snapshot, { revealKeys: false }),
    JSON.stringify([problems, statuses]),
  ].join("\n");
}
