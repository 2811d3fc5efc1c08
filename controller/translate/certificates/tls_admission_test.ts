/** Of which namespace a TLS entry's certificate may be shown for a host: of the one that answers its requests. */
import assert from "node:assert/strict";
import type { Resources } from "../../kube/resources.ts";
import { secret } from "../../../tests/support/rich_cluster.ts";
import {
  gateway,
  ingress,
  route,
  Scene,
  winner,
} from "../../../tests/support/shared_address_scene.ts";
import type { TranslateOptions, Translation } from "../translator.ts";

const SECRETS = [secret("two", "evil", "two")];

/** Many that nothing happens to: only then is a change of one a small one. */
const STILL = Array.from({ length: 40 }, (_, i) => ingress("infra", `i${i}`, 0, `i${i}.test`));

/** Of a namespace with a rule for any host. */
function entry(...hosts: string[]) {
  const made = ingress("evil", "any", 0, null);
  return { ...made, spec: { ...made.spec, tls: [{ hosts, secretName: "two" }] } };
}

function wildIngress(host = "*.a.test", name = "wild") {
  return ingress("shop", name, 5, host);
}

function wildRoute(host = "*.a.test") {
  return route("shop", "wild", 5, [host], ["shop/web"]);
}

function cluster(
  ingresses: NonNullable<Resources["ingresses"]>,
  httpRoutes: ReturnType<typeof route>[] = [],
): Partial<Resources> {
  return {
    ingresses: [...STILL, ...ingresses],
    httpRoutes,
    gateways: [gateway("shop", "web", 0, null)],
    secrets: SECRETS,
  };
}

function namespace(name: string, hosts: string) {
  return { metadata: { name, annotations: { "pingress.io/hosts": hosts } } };
}

/** Hosts with a certificate of namespace evil. */
function shown({ snapshot }: Translation): readonly string[] {
  return snapshot.certificates.filter(({ origin }) => origin.namespace === "evil")
    .flatMap(({ hosts }) => hosts);
}

function refusals({ problems }: Translation): readonly string[] {
  return problems.filter(({ reason }) => reason === "HostNotOwned")
    .map(({ object, field, message, remedy }) =>
      `${object?.namespace}/${object?.name} ${field}: ${message}. ${remedy}`
    );
}

interface Case {
  readonly cluster: Partial<Resources>;
  readonly host: string;
  readonly isShown: boolean;
  readonly options?: Partial<TranslateOptions>;
}

const CASES: Readonly<Record<string, Case>> = {
  "a host that nobody has": { cluster: cluster([]), host: "x.a.test", isShown: true },
  "a host below the wildcard of another namespace's Ingress": {
    cluster: cluster([wildIngress()]),
    host: "x.a.test",
    isShown: false,
  },
  "a host below the wildcard of another namespace's HTTPRoute": {
    cluster: cluster([], [wildRoute()]),
    host: "x.a.test",
    isShown: false,
  },
  "a host two labels below the wildcard of an Ingress, which takes one": {
    cluster: cluster([wildIngress()]),
    host: "y.x.a.test",
    isShown: true,
  },
  "a host two labels below the wildcard of an HTTPRoute, which takes more": {
    cluster: cluster([], [wildRoute()]),
    host: "y.x.a.test",
    isShown: false,
  },
  "a host two labels below a wildcard that an HTTPRoute has beside the Ingress": {
    cluster: cluster([wildIngress()], [wildRoute()]),
    host: "y.x.a.test",
    isShown: false,
  },
  "a host two labels below a wildcard that is assigned": {
    cluster: { ...cluster([]), namespaces: [namespace("shop", "*.a.test")] },
    host: "y.x.a.test",
    isShown: false,
  },
  "a wildcard below that of another namespace's HTTPRoute": {
    cluster: cluster([], [wildRoute()]),
    host: "*.x.a.test",
    isShown: false,
  },
  "a wildcard below that of another namespace's Ingress": {
    cluster: cluster([wildIngress()]),
    host: "*.x.a.test",
    isShown: true,
  },
  "a host with a rule of its own below the wildcard of another namespace": {
    cluster: cluster([wildIngress(), ingress("evil", "own", 9, "x.a.test")]),
    host: "x.a.test",
    isShown: true,
  },
  "a host below a wildcard of its own below that of another namespace": {
    cluster: cluster([ingress("evil", "own", 9, "*.x.a.test")], [wildRoute()]),
    host: "y.x.a.test",
    isShown: true,
  },
  "a host below the wildcard of another namespace below one of its own": {
    cluster: cluster([
      ingress("evil", "own", 0, "*.a.test"),
      wildIngress("*.x.a.test"),
    ]),
    host: "y.x.a.test",
    isShown: false,
  },
  "a host below the wildcard of a namespace that shares it": {
    cluster: cluster([{
      ...wildIngress(),
      metadata: {
        ...wildIngress().metadata,
        annotations: { "pingress.io/share-host-with": "evil" },
      },
    }]),
    host: "x.a.test",
    isShown: false,
  },
  "a host below the wildcard of another namespace, where hosts are shared": {
    cluster: cluster([wildIngress()]),
    host: "x.a.test",
    isShown: true,
    options: { hostOwnership: "shared" },
  },
};

for (const [name, { cluster, host, isShown, options }] of Object.entries(CASES)) {
  Deno.test(`rules without a host ${isShown ? "have a" : "have no"} certificate for ${name}`, () => {
    const made = new Scene(options).apply({
      ...cluster,
      ingresses: [...cluster.ingresses ?? [], entry(host)],
    });
    assert.deepEqual(shown(made), isShown ? [host] : []);
    assert.equal(refusals(made).length, isShown ? 0 : 1);
    if (host.startsWith("*.") || options?.hostOwnership === "shared") return;
    const isAnswered = winner(made.snapshot, host)?.startsWith("Ingress evil/") ?? false;
    assert.equal(isAnswered, isShown, "the namespace that answers has the certificate");
  });
}

Deno.test("the refusal names the host, the wildcard and its owner", () => {
  const made = new Scene().apply(cluster([wildIngress(), entry("free.test", "x.a.test")]));
  assert.deepEqual(refusals(made), [
    "evil/any spec.tls[0].hosts[1]: host x.a.test is below *.a.test, which belongs to namespace " +
    "shop, so the certificate is not used for it. Add a rule for the host, or remove it from the " +
    "TLS entry; certificates are never shared",
  ]);
});

Deno.test("a certificate goes when another namespace gets a wildcard over its host, and comes back", () => {
  const scene = new Scene();
  const own = entry("x.a.test", "y.x.a.test");
  // Each translation is compared with one anew.
  const steps: readonly (readonly [Partial<Resources>, readonly string[]])[] = [
    [cluster([own]), ["x.a.test", "y.x.a.test"]],
    [cluster([own, wildIngress()]), ["y.x.a.test"]],
    [cluster([own, wildIngress()], [wildRoute()]), []],
    [cluster([own, wildIngress()]), ["y.x.a.test"]],
    [cluster([own, wildIngress("*.b.test")]), ["x.a.test", "y.x.a.test"]],
    [cluster([own], [wildRoute("*.test")]), []],
    [cluster([own]), ["x.a.test", "y.x.a.test"]],
  ];
  for (const [i, [resources, expected]] of steps.entries()) {
    assert.deepEqual(shown(scene.apply(resources)), expected, `step ${i}`);
  }
});
