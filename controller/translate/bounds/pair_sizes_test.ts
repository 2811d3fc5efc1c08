/** What certificates of one tenant count for, beside those of others. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import { chainOf, secretWith, securedIngress } from "../../../tests/support/large_certificates.ts";
import { gateway, ingress, Scene, secure } from "../../../tests/support/shared_address_scene.ts";
import type { KubeSecret } from "../../kube/resources.ts";
import { DEFAULT_CLUSTER_BOUNDS, type Translation } from "../translator.ts";

const lineBytes = 200 * 1024;
const clusterBounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };

/** With nearly as many bytes as a chain may have. */
const LARGE = chainOf({ wildcard: 170 });
const SMALL = chainOf({ wildcard: 2 });

function refused({ problems }: Translation): readonly string[] {
  return problems.filter(({ reason }) => reason === "ClusterLimitExceeded")
    .map(({ object }) => `${object?.namespace}/${object?.name}`).sort();
}

function isWithinLine({ snapshot }: Translation): boolean {
  return Buffer.byteLength(serialiseSnapshot(snapshot, { revealKeys: true })) <= lineBytes;
}

Deno.test("large certificates of one tenant take the room of the tenant, and not of others", () => {
  const scene = new Scene({ clusterBounds });
  const names = ["a", "b", "c", "d"];
  const ingresses = names.map((name, i) => securedIngress("evil", name, i));
  const usual = Array.from({ length: 50 }, (_, i) => securedIngress("shop", `usual-${i}`, 9));
  const secrets = [
    ...names.map((name) => secretWith("evil", name, LARGE)),
    ...usual.map(({ metadata: { name } }) => secretWith("shop", name, SMALL)),
  ];
  const after = scene.apply({ ingresses: [...ingresses, ...usual], secrets });
  assert.deepEqual(refused(after), ["evil/a", "evil/b", "evil/c", "evil/d"]);
  assert.ok(isWithinLine(after));
});

Deno.test("large certificates do not become small ones by many small ones that are not served", () => {
  const scene = new Scene({ clusterBounds });
  const names = ["a", "b", "c"];
  const tls = Array.from({ length: 900 }, (_, i) => ({
    hosts: [`h${i}.junk.test`],
    secretName: `junk-${i}`,
  }));
  const junk = ingress("infra", "junk", 0, "junk.test");
  const secrets = [
    ...names.map((name) => secretWith("evil", name, LARGE)),
    ...tls.map(({ secretName }) => ({
      metadata: { namespace: "infra", name: secretName },
      data: { "tls.crt": "AA==", "tls.key": "AA==" },
    } as unknown as KubeSecret)),
  ];
  const after = scene.apply({
    ingresses: [
      ...names.map((name, i) => securedIngress("evil", name, i)),
      { ...junk, spec: { ...junk.spec, tls } },
    ],
    secrets,
  });
  assert.ok(isWithinLine(after));
});

Deno.test("large certificates of listeners of several tenants do not keep others from being published", () => {
  const scene = new Scene({ clusterBounds });
  const tenants = ["evil", "infra", "shop"];
  const after = scene.apply({
    gateways: tenants.map((namespace, i) =>
      secure(gateway(namespace, "web", i, `*.${namespace}.test`))
    ),
    secrets: tenants.map((namespace) => secretWith(namespace, "cert", LARGE)),
  });
  assert.ok(isWithinLine(after));
  assert.ok(after.snapshot.certificates.length > 0);
});
