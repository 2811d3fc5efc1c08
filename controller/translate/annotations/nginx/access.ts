/**
 * Access to routes. In: annotations of one Ingress. Out: the filter that admits requests, or rejects
 * them before anything else looks at them; null where all are admitted.
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import { readExternal } from "./external.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { ACCESS, admitAll } from "./rows/access.ts";

export function readAccess(annotations: NginxAnnotations, namespace: string): FilterSpec | null {
  const deny = annotations.valueOf(ACCESS, "denylist-source-range");
  const admitted = annotations.valueOf(ACCESS, "allowlist-source-range");
  const allow = admitted === null || admitAll(admitted) ? null : admitted;
  const external = readExternal(annotations, namespace);
  if (deny === null && allow === null && external === null) return null;
  return {
    kind: "access",
    ...(deny === null ? {} : { deny: sorted(deny) }),
    ...(allow === null ? {} : { allow: sorted(allow) }),
    ...(external === null ? {} : { external }),
  };
}

/** Lists that say the same are the same. */
function sorted(networks: readonly string[]): readonly string[] {
  return [...new Set(networks)].sort();
}
