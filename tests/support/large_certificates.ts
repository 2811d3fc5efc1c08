/**
 * Certificates of many sizes. In: how often files of `tests/golden/certificates` stand in a chain. Out: chains, Secrets
 * with them, and Ingresses that name these.
 */
import type { KubeSecret } from "../../controller/kube/resources.ts";
import { ingress } from "./shared_address_scene.ts";

function file(name: string): string {
  return Deno.readTextFileSync(new URL(`../golden/certificates/${name}`, import.meta.url));
}

/** By name, without ending; the server's certificate first. */
export function chainOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).map(([name, count]) => file(`${name}.crt`).repeat(count)).join("");
}

/** @param chain Of which the first is `wildcard`. */
export function secretWith(namespace: string, name: string, chain: string): KubeSecret {
  return {
    metadata: { namespace, name },
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa(chain), "tls.key": btoa(file("wildcard.key")) },
  } as unknown as KubeSecret;
}

/** With a host of its own, and the certificate of the Secret of the same name. */
export function securedIngress(namespace: string, name: string, age: number) {
  const made = ingress(namespace, name, age, `${name}.${namespace}.test`);
  const tls = [{ hosts: [`${name}.${namespace}.test`], secretName: name }];
  return { ...made, spec: { ...made.spec, tls } };
}
