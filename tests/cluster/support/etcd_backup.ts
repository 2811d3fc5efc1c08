/**
 * A backup of a cluster's etcd. In: a cluster. Out: a copy of its data, and a cluster that is put back
 * to it, or to nothing, with the API server started anew as its operators are told to.
 */
import { dirname, join } from "node:path";
import type { TestCluster } from "./cluster.ts";

export class EtcdBackup {
  readonly #cluster: TestCluster;
  readonly #copy: string;

  private constructor(cluster: TestCluster, copy: string) {
    this.#cluster = cluster;
    this.#copy = copy;
  }

  /** Of this moment. The API server goes on without etcd for the second that it takes. */
  static async take(cluster: TestCluster): Promise<EtcdBackup> {
    await cluster.stopEtcd();
    const copy = `${dataOf(cluster)}-backup`;
    await copyFolder(dataOf(cluster), copy);
    await cluster.startEtcd();
    await cluster.waitUntilReady();
    return new EtcdBackup(cluster, copy);
  }

  async restore(): Promise<void> {
    await replaceData(this.#cluster, (data) => copyFolder(this.#copy, data));
  }
}

/** As a cluster that is made anew behind the address and the credentials of the old one. */
export async function wipeEtcd(cluster: TestCluster): Promise<void> {
  await replaceData(cluster, () => Promise.resolve());
}

async function replaceData(cluster: TestCluster, fill: (data: string) => Promise<void>) {
  await cluster.stopApiServer("SIGKILL");
  await cluster.stopEtcd();
  await Deno.remove(dataOf(cluster), { recursive: true });
  await fill(dataOf(cluster));
  await cluster.startEtcd();
  await cluster.startApiServer();
}

function dataOf({ caFile }: TestCluster): string {
  return join(dirname(caFile), "etcd");
}

async function copyFolder(from: string, to: string): Promise<void> {
  const { success } = await new Deno.Command("cp", { args: ["-a", from, to] }).output();
  if (!success) throw new Error(`cannot copy ${from}`);
}
