import assert from "node:assert/strict";
import type { Profile } from "./profile.ts";
import { compareSources, type Ordered, showElder } from "./source_order.ts";

function source(profile: Profile, namespace: string, name: string, createdAt = Infinity): Ordered {
  const ref = { kind: "Ingress", namespace, name };
  const key = `${namespace}/${name}`;
  return { profile, identity: { ref, key, label: `Ingress ${key}`, createdAt } };
}

Deno.test("the older Ingress comes first; of one age names decide, downwards in the profile nginx", () => {
  const inOrder = [
    source("nginx", "a", "z", 1),
    source("pingress", "a", "a", 2),
    source("pingress", "a", "b", 2),
    source("pingress", "a-b", "a", 2),
    source("nginx", "b", "a", 2),
    // As one text: a slash comes after a hyphen.
    source("nginx", "a", "b", 2),
    source("nginx", "a", "a", 2),
    source("nginx", "a-b", "a", 2),
    source("pingress", "a", "a", 3),
    source("pingress", "a", "a"),
    source("nginx", "a", "b"),
    source("nginx", "a", "a"),
  ];
  for (const [i, a] of inOrder.entries()) {
    for (const [j, b] of inOrder.entries()) {
      assert.equal(Math.sign(compareSources(a, b)), Math.sign(i - j), `${i} ${j}`);
    }
  }
});

Deno.test("why an Ingress takes precedence is said as it is", () => {
  for (
    const [elder, than, why] of [
      [source("nginx", "a", "a", 1), source("pingress", "a", "b", 2), "is older"],
      [source("pingress", "a", "a", 1), source("pingress", "a", "b", 1), "comes first by name"],
      [
        source("nginx", "a", "b", 1),
        source("nginx", "a", "a", 1),
        "is of the same age and comes last by name, as in ingress-nginx",
      ],
      [
        source("pingress", "a", "b", 1),
        source("nginx", "a", "c", 1),
        "is of the same age, but without the profile nginx",
      ],
      // An owner of the host before a guest.
      [source("nginx", "a", "a", 2), source("nginx", "a", "b", 1), "takes precedence"],
    ] as const
  ) {
    assert.equal(showElder(elder, than), `Ingress ${elder.identity.key}, which ${why}`);
  }
});
