import assert from "node:assert/strict";
import type { HostClaimant, HostOwner } from "./host_owner.ts";
import { reportOwnership } from "./ownership_problems.ts";

const HOST = "shop.test";
const OWNER: HostOwner = {
  ...{ namespace: "owner", because: "assigned", since: null },
  ...{ sharers: [], guests: [], isDeep: false },
};

function claimant(namespace: string, name: string): HostClaimant {
  const ref = { kind: "Ingress", namespace, name };
  const hosts = [{ host: HOST, field: "spec.rules[0].host" }];
  return {
    identity: { ref, label: `Ingress ${namespace}/${name}` },
    ...{ hosts, otherNames: [], sharesWith: [], isDying: false },
  } as unknown as HostClaimant;
}

/** @param onRead Called for each element, and for each property, that is read. */
function watched<T>(list: T[], onRead: () => void): T[] {
  return new Proxy(list, {
    get: (target, key) => {
      onRead();
      return Reflect.get(target, key);
    },
  });
}

Deno.test("claimants that are being deleted are read once each, and the owner hears of the others alone", () => {
  const count = 1000;
  let reads = 0;
  const many = (namespace: string) =>
    watched(
      Array.from({ length: count }, (_, i) => claimant(namespace, `web-${i}`)),
      () => void reads++,
    );
  const living = [claimant("owner", "own"), ...many("other"), ...many("third")];
  const dying = many("terminating");
  reads = 0;
  const problems = reportOwnership(
    new Set([HOST]),
    new Map([[HOST, { living, dying }]]),
    new Map([[HOST, OWNER]]),
  );
  assert.ok(reads < 10 * count, `${reads} reads of ${count} claimants`);
  const refused = problems.filter(({ reason }) => reason === "HostNotOwned");
  assert.equal(refused.length, 3 * count);
  const warnings = problems.filter(({ reason }) => reason === "HostClaimedByOthers");
  assert.deepEqual(warnings.map(({ object, message }) => [object?.name, message]), [
    ["own", `namespace other names host ${HOST} too (Ingress other/web-0); its rules are rejected`],
    ["own", `namespace third names host ${HOST} too (Ingress third/web-0); its rules are rejected`],
  ]);
});
