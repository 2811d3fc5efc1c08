/**
 * A kubeconfig. In: its file, or several that are one, as KUBECONFIG names them. Out: its fields, or an error
 * that says what is wrong and cites nothing of it.
 */
import { dirname, resolve } from "node:path";
import { readGuardedYaml } from "../../../shared/yaml/guarded_yaml.ts";

/** The fields that are read here; https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
export interface Kubeconfig {
  readonly "current-context"?: string;
  readonly contexts?: readonly Named<
    "context",
    { readonly cluster?: string; readonly user?: string; readonly namespace?: string }
  >[];
  readonly clusters?: readonly Named<
    "cluster",
    { readonly server?: string; readonly "certificate-authority"?: string }
  >[];
  readonly users?: readonly Named<
    "user",
    {
      readonly "client-certificate"?: string;
      readonly "client-key"?: string;
      readonly tokenFile?: string;
      readonly exec?: unknown;
    }
  >[];
}

type Named<K extends string, T> = { readonly name: string } & { readonly [key in K]?: T };

/**
 * As kubectl merges them: the first file that names something decides about it, and of several files, those that
 * are not there count for nothing. Paths are absolute, each from the folder of its file. A user has an entry
 * `exec` only where it counts: credentials in the file itself go before those that a program gives.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files
 *
 * Throws where a file cannot be read, or is no kubeconfig.
 */
export function readKubeconfig(files: readonly string[]): Kubeconfig {
  const there = files.length === 1 ? files : files.filter(exists);
  const read = (there.length === 0 ? files.slice(0, 1) : there).map((file) =>
    readFile(file, files.length > 1)
  );
  return {
    "current-context": read.map((one) => one["current-context"]).find((name) => name),
    contexts: merged(read.map(({ contexts }) => contexts)),
    clusters: merged(read.map(({ clusters }) => clusters)),
    users: merged(read.map(({ users }) => users)),
  };
}

function exists(file: string): boolean {
  try {
    Deno.statSync(file);
    return true;
  } catch (error) {
    // What cannot be looked at is there: reading it says why.
    return !(error instanceof Deno.errors.NotFound);
  }
}

/** @param isOneOfSeveral Then errors name it. */
function readFile(file: string, isOneOfSeveral: boolean): Kubeconfig {
  const place = isOneOfSeveral ? `${file}: ` : "";
  const reading = readGuardedYaml(Deno.readTextFileSync(file));
  if (!reading.ok) throw new Error(`${place}${reading.message}`);
  const { value } = reading;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error(`${place}it is no kubeconfig: it has no clusters, users and contexts`);
  }
  const { clusters, users, ...config } = value as Kubeconfig;
  const folder = dirname(resolve(file));
  return {
    ...config,
    clusters: withPaths(clusters, "cluster", ["certificate-authority"], folder),
    users: withPaths(users, "user", ["client-certificate", "client-key", "tokenFile"], folder),
  };
}

type Settings = Record<string, unknown>;

type Entries = readonly { readonly name: string }[];

function withPaths<T extends Entries>(
  entries: T | undefined,
  field: string,
  keys: readonly string[],
  folder: string,
): T | undefined {
  if (!Array.isArray(entries)) return undefined;
  return (entries as readonly Settings[]).map((entry) => {
    const settings: Settings = { ...entry?.[field] as Settings | undefined };
    for (const key of keys) {
      const path: unknown = settings[key];
      if (typeof path === "string" && path !== "") settings[key] = resolve(folder, path);
    }
    const exec = settings.exec as Settings | null | undefined;
    const command = exec?.command;
    if (settings.token || settings.tokenFile || settings.username) delete settings.exec;
    // One without a slash is looked up in PATH.
    else if (typeof command === "string" && /[/\\]/.test(command)) {
      settings.exec = { ...exec, command: resolve(folder, command) };
    }
    return { ...entry, [field]: settings };
  }) as unknown as T;
}

/** The first of each name. */
function merged<T extends { readonly name: string }>(
  lists: readonly (readonly T[] | undefined)[],
): readonly T[] {
  const byName = new Map<string, T>();
  for (const entry of lists.flatMap((list) => Array.isArray(list) ? list : [])) {
    if (!byName.has(entry?.name)) byName.set(entry?.name, entry);
  }
  return [...byName.values()];
}
