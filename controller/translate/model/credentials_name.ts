/**
 * Names of credentials. In: a Secret and how it holds users. Out: the id by which filters refer to its
 * credentials, and the way back.
 */

export interface CredentialsName {
  readonly namespace: string;
  readonly name: string;
  readonly kind: "auth-file" | "auth-map";
  /** Of an Ingress, that names it. */
  readonly field: string;
}

export function credentialsId({ namespace, name, kind }: Omit<CredentialsName, "field">): string {
  return `${namespace}/${name} ${kind}`;
}

/** Null for an id of another form, which only a file that is written by hand can have. */
export function readCredentialsId(id: string): CredentialsName | null {
  const [, namespace, name, kind] = /^([^/ ]+)\/([^/ ]+) (auth-file|auth-map)$/.exec(id) ?? [];
  if (namespace === undefined) return null;
  return {
    namespace,
    name,
    kind: kind === "auth-map" ? "auth-map" : "auth-file",
    field: 'metadata.annotations["nginx.ingress.kubernetes.io/auth-secret"]',
  };
}
