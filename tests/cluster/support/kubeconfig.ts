/** Kubeconfig files. In: a server and a token. Out: the text of a file, which JSON is too. */

/** A token, or the path of a file that has one and that clients read again when it changes. */
export type Credentials = { readonly token: string } | { readonly tokenFile: string };

export interface KubeconfigEntry {
  /** `https://HOST:PORT`. */
  readonly server: string;
  /** What may sign the server's certificate. */
  readonly caPem: string;
  readonly credentials: Credentials;
  /** Of the context; Kubernetes' tools take `default` where there is none. */
  readonly namespace?: string;
}

/** One cluster, one user and the context that joins them. YAML's readers read JSON. */
export function kubeconfigText(
  { server, caPem, credentials, namespace }: KubeconfigEntry,
): string {
  const cluster = { server, "certificate-authority-data": btoa(caPem) };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster }],
    users: [{ name: "test", user: credentials }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test", namespace } }],
    "current-context": "test",
  });
}
