/**
 * The objects that the controller is measured with. In: how many of each kind. Out: a real API server
 * that has them, and the objects as they were sent.
 */
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import type { Ingress, KubeSecret, Resources } from "../../controller/kube/resources.ts";
import type { KubeObject } from "../../tests/cluster/support/api_client.ts";
import type { TestCluster } from "../../tests/cluster/support/cluster.ts";
import { annotated } from "../../tests/support/large_annotations.ts";
import { type ClusterSize, largeCluster } from "../../tests/support/large_cluster.ts";

/** Requests that are under way at the same time. */
export const PARALLEL = 32;

export interface Population {
  readonly resources: Resources;
  /** Signs certificates like those that the Secrets have. */
  readonly authority: CertificateAuthority;
}

/**
 * Creates everything; throws where the API server refuses any of it.
 * @param annotationSets As the option of this name.
 */
export async function populate(
  cluster: TestCluster,
  size: ClusterSize,
  annotationSets = 0,
): Promise<Population> {
  const { namespaces, resources: made } = await largeCluster(size);
  const authority = await CertificateAuthority.create("Benchmark");
  const secrets = await withOwnKeys(authority, made.secrets, made.ingresses);
  const ingresses = annotationSets === 0
    ? made.ingresses
    : annotated(made.ingresses, annotationSets);
  const resources = { ...made, secrets, ingresses };
  await createAll(
    cluster,
    namespaces.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
  );
  for (const kind of ["services", "endpointSlices", "secrets", "ingresses"] as const) {
    await createAll(cluster, resources[kind]);
  }
  return { resources, authority };
}

/** Runs `work` for each item, so many at the same time; the first that throws stops it. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  const run = async () => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, run));
}

async function createAll(cluster: TestCluster, objects: readonly unknown[]): Promise<void> {
  await inParallel(objects as readonly KubeObject[], async (object) => {
    await cluster.create(object);
  });
}

/** The hosts of the Ingresses that name a Secret. */
function hostsBySecret(ingresses: readonly Ingress[]): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const { metadata, spec } of ingresses) {
    for (const tls of spec?.tls ?? []) {
      const name = `${metadata?.namespace}/${tls.secretName}`;
      hosts.set(name, [...hosts.get(name) ?? [], ...tls.hosts ?? []]);
    }
  }
  return hosts;
}

/** Real clusters have a key for each certificate, and all of them are published. */
async function withOwnKeys(
  authority: CertificateAuthority,
  secrets: readonly KubeSecret[],
  ingresses: readonly Ingress[],
): Promise<KubeSecret[]> {
  const hosts = hostsBySecret(ingresses);
  const renewed: KubeSecret[] = [];
  for (const secret of secrets) {
    const { namespace, name } = secret.metadata ?? {};
    const names = hosts.get(`${namespace}/${name}`) ?? [`unused.${namespace}.example.com`];
    renewed.push({ ...secret, data: await issueData(authority, names) });
  }
  return renewed;
}

/** Data of a Secret of type kubernetes.io/tls: leaf and authority, and the leaf's key. */
export async function issueData(
  authority: CertificateAuthority,
  names: readonly string[],
): Promise<Record<"tls.crt" | "tls.key", string>> {
  const { chain, key } = await authority.issue({ names });
  return {
    "tls.crt": btoa(`${chain}${authority.certificate}`),
    "tls.key": btoa(key.reveal()),
  };
}
