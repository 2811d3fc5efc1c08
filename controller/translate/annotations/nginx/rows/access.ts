/** Annotations about who may send requests at all: lists of networks, and how checks combine. */
import { type Group, HONOURED, row } from "./row.ts";
import { BOOL, NETWORKS, oneOf } from "./value.ts";

export const ACCESS = {
  "allowlist-source-range": row({
    aliases: ["whitelist-source-range"],
    risk: "Medium",
    scope: "path",
    value: NETWORKS,
    invalid: "close",
    protects: true,
    needsValue: true,
    verdict: { kind: "honoured" },
    does:
      "admits clients of these networks only; others get 403, and an empty list closes the paths",
    isHarmless: admitAll,
  }),
  "denylist-source-range": row({
    risk: "Medium",
    scope: "path",
    value: NETWORKS,
    invalid: "close",
    protects: true,
    needsValue: true,
    verdict: { kind: "honoured" },
    does:
      "rejects clients of these networks with 403, before the allowlist is checked; an empty list " +
      "closes the paths",
  }),
  "satisfy": row({
    risk: "Low",
    scope: "path",
    value: oneOf(["all", "any"]),
    invalid: "close",
    protects: true,
    verdict: HONOURED,
    beside: ["allowlist-source-range", "denylist-source-range", "auth-type", "auth-url"],
    // The checks that it joins protect by themselves.
    protectsBeside: [],
    does: "requires all of, or any of, access lists, basic and external authentication",
  }),
  "enable-global-auth": row({
    risk: "Low",
    scope: "path",
    value: BOOL,
    invalid: "close",
    protects: true,
    verdict: HONOURED,
    does: '"false" exempts the paths from global-auth-url of the ConfigMap',
  }),
} satisfies Group;

/** Whether all clients are admitted. cert-manager sets such a list for every HTTP-01 challenge. */
export function admitAll(networks: readonly string[]): boolean {
  return networks.some((network) => /^[\d.]+\/0$/.test(network)) &&
    networks.some((network) => /^[\da-f:]+\/0$/i.test(network));
}
