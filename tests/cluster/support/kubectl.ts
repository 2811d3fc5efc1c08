/**
 * The real kubectl. In: a cluster and arguments. Out: what it said and its exit code, as users get
 * them; `null` where the programs that were found have none.
 */
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "./api_client.ts";

/** `manifests/`, which users apply. */
export const MANIFESTS = join(import.meta.dirname!, "..", "..", "..", "manifests");

/** What kubectl needs to know of a cluster. */
export interface KubectlTarget {
  readonly kubeconfig: string;
  readonly programs: { readonly kubectl: string | null };
}

export interface KubectlAnswer {
  readonly code: number;
  readonly stdout: string;
  /** Warnings of the API server come here. */
  readonly stderr: string;
}

/** Runs it as the cluster's administrator; `input` is its standard input. */
export async function kubectl(
  cluster: KubectlTarget,
  args: readonly string[],
  input = "",
): Promise<KubectlAnswer | null> {
  const { programs: { kubectl: program }, kubeconfig } = cluster;
  if (program === null) return null;
  const child = new Deno.Command(program, {
    args: [`--kubeconfig=${kubeconfig}`, "--cache-dir=/dev/null", ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout: out, stderr: err };
}

/** The objects of one file of `manifests/`. */
export async function manifest<T = KubeObject>(file: string): Promise<T[]> {
  const text = await Deno.readTextFile(join(MANIFESTS, file));
  return parseAllDocuments(text).map((document) => document.toJS() as T);
}
