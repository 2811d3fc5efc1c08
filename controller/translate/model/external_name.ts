/**
 * Names that proxies resolve because a user has written them. In: the name, in lower case and without its
 * last dot. Out: what is wrong with it.
 */

/** RFC 6761 §6.3. Names that resolve to local addresses are refused where they are dialled. */
export function isLocalName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

/** A numeric last label makes it an address to many resolvers, in whichever notation. */
export function looksLikeAddress(name: string): boolean {
  return /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(name);
}

/**
 * The namespace of the Service or pod that cluster DNS has under a name, whatever the cluster's domain:
 * `db.team.svc`, `pod-0.db.team.svc.example.org`, `10-0-0-1.team.pod.cluster.local`. None for other names;
 * several where the domain could begin at several labels.
 */
export function namespacesInName(name: string): readonly string[] {
  const labels = name.split(".");
  return labels.flatMap((label, i) => {
    // Before the namespace is the name of the Service at least, so that `svc.example.com` is none.
    if (i < 2) return [];
    const isNamed = label === "svc" || (label === "pod" && POD_ADDRESS.test(labels[i - 2]));
    return isNamed ? labels[i - 1] : [];
  });
}

/** The address of a pod, with dashes in place of its dots or colons. */
const POD_ADDRESS = /^(?:\d{1,3}(?:-\d{1,3}){3}|[\da-f]*(?:-[\da-f]*){2,7})$/;
