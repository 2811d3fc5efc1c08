/**
 * A folder as the kubelet fills it for a ConfigMap or Secret volume. In: files by name. Out: a
 * folder in which all of them change at once: they are links through `..data`, whose swap brings
 * the next version.
 */
import { join } from "node:path";

export class MountedVolume {
  readonly folder: string;
  #version = 0;
  #names = new Set<string>();

  /** @param folder is there, and empty. */
  constructor(folder: string) {
    this.folder = folder;
  }

  /** Puts these files in place of those that were there. */
  publish(files: Readonly<Record<string, string | Uint8Array>>): void {
    const before = `..${this.#version++}`;
    const version = `..${this.#version}`;
    Deno.mkdirSync(join(this.folder, version));
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.folder, version, name);
      if (typeof content === "string") Deno.writeTextFileSync(path, content);
      else Deno.writeFileSync(path, content);
    }
    Deno.symlinkSync(version, join(this.folder, "..data_tmp"));
    Deno.renameSync(join(this.folder, "..data_tmp"), join(this.folder, "..data"));
    for (const name of Object.keys(files)) {
      if (this.#names.has(name)) continue;
      Deno.symlinkSync(`..data/${name}`, join(this.folder, name));
      this.#names.add(name);
    }
    for (const name of [...this.#names]) {
      if (name in files) continue;
      Deno.removeSync(join(this.folder, name));
      this.#names.delete(name);
    }
    if (before !== "..0") Deno.removeSync(join(this.folder, before), { recursive: true });
  }
}
