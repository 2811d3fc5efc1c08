/**
 * What a kubelet does for the proxies' volume. In: the ConfigMaps and Secrets that are published, by a
 * list every now and then. Out: a folder with their files, which change all at once.
 */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  configFileName,
  configKey,
  configMapName,
  isKeySecretName,
  MAX_PARTS,
} from "../../../shared/snapshot/published_set.ts";
import { SNAPSHOT_FORMAT } from "../../../shared/snapshot/types.ts";
import { MountedVolume } from "../../support/mounted_volume.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";

type Content = KubeObject & {
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
};

/** Between two looks, in ms; a real one takes about a minute. */
const PAUSE = 100;

export class KubeletVolume {
  readonly #cluster: TestCluster;
  readonly #namespace: string;
  /** The name under which the proxy is given the first file. */
  readonly #first: string;
  readonly #formats: readonly number[];
  #volume: MountedVolume | null = null;
  #shown = "";
  readonly #stop = new AbortController();
  #looking: Promise<void> = Promise.resolve();

  /** @param formats Those whose ConfigMaps the pod mounts; `first` is the file of the first one. */
  constructor(
    cluster: TestCluster,
    namespace: string,
    first: string,
    formats: readonly number[] = [SNAPSHOT_FORMAT],
  ) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#first = first;
    this.#formats = formats;
  }

  /** Fills the folder, which is empty; `start` follows what is published from then on. */
  mount(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
    this.#volume = new MountedVolume(folder);
    this.#volume.publish(files);
  }

  start(): void {
    this.#looking = this.#follow();
  }

  /** The files of this moment. */
  async files(): Promise<Record<string, Uint8Array>> {
    const { files } = await this.#look();
    return files;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#looking;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const { files, versions } = await this.#look();
      if (versions !== this.#shown && this.#first in files && !this.#publish(files)) return;
      this.#shown = versions;
      await sleep(PAUSE, undefined, { signal }).catch(() => {});
    }
  }

  /** False where the pod has ended, and its folder with it. */
  #publish(files: Readonly<Record<string, Uint8Array>>): boolean {
    const volume = this.#volume!;
    try {
      volume.publish(files);
      return true;
    } catch (error) {
      if (existsSync(volume.folder)) throw error;
      return false;
    }
  }

  async #look() {
    const where = { namespace: this.#namespace };
    const [configMaps, secrets] = await Promise.all([
      this.#cluster.list<Content>("v1", "ConfigMap", where),
      this.#cluster.list<Content>("v1", "Secret", where),
    ]);
    const files: Record<string, Uint8Array> = {};
    const versions: string[] = [];
    const see = ({ metadata: { name, resourceVersion } }: Content) =>
      versions.push(`${name} ${resourceVersion}`);
    for (const format of this.#formats) {
      for (let index = 0; index <= MAX_PARTS; index++) {
        const name = configMapName(index, format);
        const found = configMaps.find(({ metadata }) => metadata.name === name);
        if (found === undefined) continue;
        see(found);
        const key = configKey(format);
        const text = found.data?.[key];
        const isFirst = index === 0 && format === this.#formats[0];
        files[isFirst ? this.#first : configFileName(index, format)] = text === undefined
          ? Uint8Array.fromBase64(found.binaryData?.[key] ?? "")
          : new TextEncoder().encode(text);
      }
    }
    for (const secret of secrets.filter(({ metadata }) => isKeySecretName(metadata.name))) {
      see(secret);
      for (const [key, value] of Object.entries(secret.data ?? {})) {
        files[key] = Uint8Array.fromBase64(value);
      }
    }
    return { files, versions: versions.join() };
  }
}
