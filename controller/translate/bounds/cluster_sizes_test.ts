import assert from "node:assert/strict";
import type { KubeSecret } from "../../kube/resources.ts";
import { averagePair } from "./cluster_sizes.ts";

/** Sizes of its values in base64. */
function secret(name: string, chain: number, key: number): KubeSecret {
  return {
    metadata: { namespace: "shop", name },
    data: { "tls.crt": "A".repeat(chain), "tls.key": "A".repeat(key) },
  } as unknown as KubeSecret;
}

Deno.test("large Secrets of one tenant hardly change what certificates of others count", () => {
  const usual = Array.from({ length: 300 }, (_, i) => secret(`usual-${i}`, 5_200, 2_200));
  const large = Array.from({ length: 20 }, (_, i) => secret(`large-${i}`, 680_000, 340_000));
  assert.deepEqual(averagePair(usual), { chain: 3_900, key: 1_700 });
  assert.deepEqual(averagePair([...usual, ...large]), { chain: 5_000, key: 1_800 });
});
