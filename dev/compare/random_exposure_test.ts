/**
 * Random changes of Ingresses with plain paths. In: a seed. Out: no request that is forwarded without a check
 * which it had to pass before, as a linear scan says, where the comparison finds nothing open.
 */
import assert from "node:assert/strict";
import type { FilterSpec, Snapshot } from "../../shared/snapshot/types.ts";
import { planFor } from "../../tests/support/dev_plan.ts";
import { matchLinearly } from "../../tests/support/linear_matcher.ts";
import { Random } from "../../tests/fuzz/random.ts";
import { exposureOf } from "./exposure.ts";

const CHANGES = 600;

const HOSTS = ["a.test", "b.test", "*.test", "x.a.test", undefined];
const PATHS = ["/", "/a", "/a/", "/a/b", "/A", "/b"];
const ANNOTATIONS: readonly Readonly<Record<string, string>>[] = [
  { "denylist-source-range": "192.0.2.0/24" },
  { "allowlist-source-range": "10.0.0.0/8" },
  { "auth-url": "http://auth.default.svc/" },
  // Closes its paths.
  { "limit-rps": "5" },
];
const REQUESTED_HOSTS = ["a.test", "b.test", "c.test", "x.a.test", "other.example"];
const REQUESTED_PATHS = ["/", "/a", "/a/", "/a/b", "/a/b/c", "/A", "/A/B", "/b", "/b/b", "/c"];

const SERVICES = ["web", "auth"].map((name) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }] },
}));

/** The younger the higher its number. */
function randomIngress(random: Random, number: number) {
  const backend = { service: { name: "web", port: { number: 80 } } };
  const rules = Array.from({ length: random.oneIn(6) ? 0 : 1 + random.below(2) }, () => ({
    host: random.pick(HOSTS),
    http: {
      paths: Array.from({ length: 1 + random.below(2) }, () => ({
        path: random.pick(PATHS),
        pathType: random.pick(["Prefix", "Prefix", "Exact"]),
        backend,
      })),
    },
  }));
  const annotations = random.oneIn(2) ? random.pick(ANNOTATIONS) : {};
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: `i${number}`,
      creationTimestamp: `20${20 + number}-01-01T00:00:00Z`,
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([name, value]) => [
          `nginx.ingress.kubernetes.io/${name}`,
          value,
        ]),
      ),
    },
    spec: {
      ingressClassName: "nginx",
      rules,
      ...(rules.length === 0 || random.oneIn(4) ? { defaultBackend: backend } : {}),
    },
  };
}

type Ingresses = readonly ReturnType<typeof randomIngress>[];

/** One that is gone, new, or another. */
function changed(random: Random, ingresses: Ingresses): Ingresses {
  const number = random.below(ingresses.length);
  return random.oneIn(3)
    ? [...ingresses, randomIngress(random, ingresses.length)]
    : random.oneIn(2)
    ? ingresses.filter((_, i) => i !== number)
    : ingresses.map((each, i) => i === number ? randomIngress(random, i) : each);
}

function snapshotOf(ingresses: Ingresses): Snapshot {
  const text = [...ingresses, ...SERVICES].map((object) => JSON.stringify(object)).join("\n---\n");
  return planFor({ "a.yaml": text }, { nginxClasses: ["nginx"], ingressClasses: ["nginx"] })
    .snapshot;
}

type Access = Extract<FilterSpec, { readonly kind: "access" }>;

/** The checks of a request that is forwarded; "closed" where none is, on purpose, and null where it gets an error. */
function checksOf(snapshot: Snapshot, host: string, path: string): Set<string> | "closed" | null {
  const request = { host, path, method: "GET", headers: [], query: "", listener: "http" };
  const route = matchLinearly(snapshot, request);
  const action = route === null ? snapshot.defaultAction : route.action;
  if (action?.kind === "reply") return action.closed ? "closed" : null;
  if (action?.kind !== "forward") return null;
  const id = route === null ? action.backends[0].filterSet : route.filterSet;
  const filters = snapshot.filterSets?.find((set) => set.id === id)?.filters ?? [];
  const access = filters.filter((filter): filter is Access => filter.kind === "access");
  return new Set(access.flatMap((filter) => Object.keys(filter)).filter((key) => key !== "kind"));
}

Deno.test("a path that a random change of Ingresses opens is found", () => {
  const random = new Random(20_261_201);
  let opened = 0;
  for (let i = 0; i < CHANGES; i++) {
    const before = Array.from({ length: 1 + random.below(4) }, (_, n) => randomIngress(random, n));
    const after = changed(random, before);
    const [old, now] = [snapshotOf(before), snapshotOf(after)];
    const isFound = exposureOf(old, now).opened.length > 0;
    for (const host of REQUESTED_HOSTS) {
      for (const path of REQUESTED_PATHS) {
        const [was, is] = [checksOf(old, host, path), checksOf(now, host, path)];
        if (was === null || !(is instanceof Set)) continue;
        const isOpen = was === "closed" ? is.size === 0 : !was.isSubsetOf(is);
        if (!isOpen) continue;
        opened++;
        assert.ok(isFound, `${host}${path}: ${JSON.stringify([before, after])}`);
      }
    }
  }
  assert.ok(opened > CHANGES, `${opened} requests are open`);
});
