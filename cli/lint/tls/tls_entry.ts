/** Entries of `spec.tls`. In: an Ingress of unknown shape. Out: the hosts and the Secret of each. */
import { asList, asText, fieldOf } from "../../../controller/base/json.ts";
import type { Ingress } from "../../../controller/kube/resources.ts";

export interface TlsEntry {
  /** `spec.tls[0]`. */
  readonly field: string;
  /** In lower case; empty where it lists none. */
  readonly hosts: readonly string[];
  /** Null where it names none. */
  readonly secret: string | null;
}

export function tlsEntries({ spec }: Ingress): TlsEntry[] {
  return (asList(fieldOf(spec, "tls")) ?? []).map((entry, i) => ({
    field: `spec.tls[${i}]`,
    hosts: (asList(fieldOf(entry, "hosts")) ?? []).flatMap((host) =>
      asText(host)?.toLowerCase() ?? []
    ),
    secret: asText(fieldOf(entry, "secretName")),
  }));
}
