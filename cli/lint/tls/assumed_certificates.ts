/**
 * Certificates that are in no file. In: a snapshot, and the objects that it was made of. Out: what would have been
 * published of it with the Secrets that are missing, each with a certificate for the hosts that its TLS entry
 * lists, or for all hosts of the Ingress where it lists none. Translated again, these are kept.
 */
import { asList, asText, fieldOf } from "../../../controller/base/json.ts";
import type { Ingress, Resources } from "../../../controller/kube/resources.ts";
import { wildcardOver } from "../../../controller/translate/model/host.ts";
import { refOf } from "../../../dev/problems/class_problems.ts";
import { Redacted } from "../../../shared/redacted.ts";
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import { tlsEntries } from "./tls_entry.ts";

/** Null where no Secret is missing. */
export function withAssumedCertificates(
  snapshot: Snapshot,
  { ingresses, secrets }: Pick<Resources, "ingresses" | "secrets">,
): Snapshot | null {
  const known = new Set(secrets.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`));
  const hosts = Map.groupBy(
    ingresses.flatMap((ingress) => {
      const { namespace } = refOf(ingress);
      return hostsOf(ingress).map((host) => ({ namespace, host }));
    }),
    ({ namespace, host }) => `${namespace} ${wildcardOver(host)}`,
  );
  const assumed = ingresses.flatMap((ingress) => {
    const { namespace } = refOf(ingress);
    return tlsEntries(ingress).flatMap(({ secret, hosts: listed }): Certificate[] => {
      if (secret === null || known.has(`${namespace}/${secret}`)) return [];
      const below = listed.flatMap((host) =>
        hosts.get(`${namespace} ${host}`)?.map(({ host }) => host) ?? []
      );
      return [{
        id: `${namespace}/${secret}`,
        hosts: listed.length > 0 ? [...listed, ...below] : hostsOf(ingress),
        // No proxy reads them.
        chain: { kind: "pem", pem: "in no file" },
        key: { kind: "secret", pem: new Redacted("in no file") },
        origin: { kind: "Secret", namespace, name: secret, field: "" },
      }];
    });
  });
  return assumed.length === 0
    ? null
    : { ...snapshot, certificates: [...snapshot.certificates, ...assumed] };
}

function hostsOf({ spec }: Ingress): string[] {
  return (asList(fieldOf(spec, "rules")) ?? []).flatMap((rule) =>
    asText(fieldOf(rule, "host"))?.toLowerCase() ?? []
  );
}
