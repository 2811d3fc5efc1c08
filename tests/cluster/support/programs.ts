/**
 * The programs of a real API server. In: the environment. Out: where etcd, kube-apiserver and
 * kubectl are, built from their Go modules where they are not there yet.
 */
import { dirname, join } from "node:path";

/** Paths of what a cluster runs. */
export interface Programs {
  readonly etcd: string;
  readonly apiServer: string;
  /** `null` where the folder that `KUBEBUILDER_ASSETS` names has none. */
  readonly kubectl: string | null;
}

/** The programs, or why there are none and what helps. */
export type ProgramsFound =
  | { readonly ok: true; readonly programs: Programs }
  | { readonly ok: false; readonly error: string };

const BUILD = join(import.meta.dirname!, "..", "build.sh");

let found: Promise<ProgramsFound> | null = null;

/**
 * Looks, once a process, in the folder that `KUBEBUILDER_ASSETS` names, if it has both programs; else where `build.sh`
 * puts them, which is run first: it does nothing when they are there, and takes minutes when not.
 */
export function findPrograms(): Promise<ProgramsFound> {
  return found ??= lookForPrograms();
}

async function lookForPrograms(): Promise<ProgramsFound> {
  const assets = Deno.env.get("KUBEBUILDER_ASSETS") ?? "";
  const given = assets === "" ? null : programsIn(assets);
  if (given !== null) return { ok: true, programs: given };
  const built = builtFolder();
  const there = programsIn(built);
  if (there?.kubectl) return { ok: true, programs: there };
  const problem = await build();
  if (problem !== null) return { ok: false, error: problem };
  const programs = programsIn(built);
  if (programs === null) throw new Error(`build.sh left no programs in ${built}`);
  return { ok: true, programs };
}

function builtFolder(): string {
  const root = Deno.env.get("PINGRESS_CLUSTER") ??
    join(Deno.env.get("HOME") ?? "", ".cache", "pingress-cluster");
  return join(root, "bin");
}

function programsIn(folder: string): Programs | null {
  const [etcd, apiServer, kubectl] = ["etcd", "kube-apiserver", "kubectl"].map((name) => {
    const path = join(folder, name);
    try {
      return Deno.statSync(path).isFile ? path : null;
    } catch {
      return null;
    }
  });
  return etcd && apiServer ? { etcd, apiServer, kubectl } : null;
}

/** Says what goes on while it goes on; the answer is what went wrong. */
async function build(): Promise<string | null> {
  const child = new Deno.Command("bash", {
    args: [BUILD, "api"],
    cwd: dirname(BUILD),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let said = "";
  for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
    said = (said + part).slice(-4096);
    await Deno.stderr.write(new TextEncoder().encode(part));
  }
  const { success } = await child.status;
  return success ? null : said.trimEnd().split("\n").at(-1)!.replace(/^build\.sh: /, "");
}
