/**
 * `deno task deploy` and `deno task undeploy`. In: a cluster and arguments. Out: what they said and
 * their exit codes, as users get them; `null`, and a line, where there is no kubectl.
 */
import { dirname, join } from "node:path";
import { type KubectlAnswer, type KubectlTarget, MANIFESTS } from "./kubectl.ts";

const ROOT = join(MANIFESTS, "..");

/** With the permissions of the task, and nobody at the terminal. */
export async function deployTask(
  { programs: { kubectl }, kubeconfig }: KubectlTarget,
  name: "deploy" | "undeploy",
  args: readonly string[],
): Promise<KubectlAnswer | null> {
  if (kubectl === null) {
    console.log("skipped: kubectl is not among the programs");
    return null;
  }
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-P=deploy", "--no-prompt", `tools/${name}.ts`, ...args],
    cwd: ROOT,
    env: { KUBECONFIG: kubeconfig, PATH: `${dirname(kubectl)}:${Deno.env.get("PATH")}` },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
