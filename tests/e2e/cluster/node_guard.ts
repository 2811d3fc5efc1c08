/**
 * A whole cluster that ends with the test, however it ends. In: the scripts of `tests/cluster`. Out:
 * the machine's one place for such a cluster, held until what was started in it is gone.
 */
import { join } from "node:path";
import { leftovers } from "./leftovers.ts";

/** Scripts that start and stop a cluster and build images. */
export const SCRIPTS = join(import.meta.dirname!, "..", "..", "cluster");

/** Where programs, images and a running cluster's files are. */
export function clusterFolder(): string {
  return Deno.env.get("PINGRESS_CLUSTER") ??
    join(Deno.env.get("HOME") ?? "", ".cache", "pingress-cluster");
}

/** What up.sh ends with where this machine cannot. */
const CANNOT = 77;

/**
 * Holds the lock until its standard input closes, which it does when this process ends, by whatever
 * cause; then stops the cluster, and only then gives the lock up.
 */
const GUARD = `trap '' INT TERM HUP
mkdir -p "$1"
exec 9>"$1/node.lock"
flock --nonblock 9 || { echo waiting; flock 9; }
echo locked
cat >/dev/null
"$2/down.sh" 9>&-`;

export interface ScriptAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script of `tests/cluster` to its end. */
export async function runScript(name: string, args: readonly string[]): Promise<ScriptAnswer> {
  const { code, stdout, stderr } = await new Deno.Command("bash", {
    args: [join(SCRIPTS, name), ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout: out, stderr: err };
}

export class NodeGuard {
  readonly #shell: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  private constructor(shell: Deno.ChildProcess) {
    this.#shell = shell;
    this.#reader = shell.stdout.getReader();
  }

  /** Waits until no other cluster is on this machine; `null` where flock or setsid are missing. */
  static async lock(name: string): Promise<NodeGuard | null> {
    try {
      const shell = new Deno.Command("setsid", {
        args: ["bash", "-c", GUARD, "guard", clusterFolder(), SCRIPTS],
        stdin: "piped",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      const guard = new NodeGuard(shell);
      for (;;) {
        const said = await guard.#read();
        if (said.includes("locked")) return guard;
        if (said === "") throw new Error("The lock of the cluster's folder cannot be taken");
        console.log(`${name}: waits until another cluster on this machine has ended`);
      }
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw error;
    }
  }

  /**
   * Starts a cluster. Out: the path of its kubeconfig, or why this machine cannot. Throws where it
   * should have, and did not.
   */
  async start(nodes: number): Promise<{ ok: true; kubeconfig: string } | CannotStart> {
    const { code, stdout, stderr } = await runScript("up.sh", ["node", `${nodes}`]);
    if (code === 0) return { ok: true, kubeconfig: stdout.trim() };
    const reason = stderr.trimEnd().split("\n").at(-1)!.replace(/^(up|build)\.sh: /, "");
    if (code === CANNOT) return { ok: false, error: reason };
    throw new Error(`No cluster: ${stderr}`);
  }

  /** Stops the cluster. Throws where something of it is left. */
  async stop(): Promise<void> {
    await runScript("down.sh", []);
    const left = await leftovers(join(clusterFolder(), "run"));
    if (left.length > 0) throw new Error(`The cluster has left\n${left.join("\n")}`);
  }

  /** Stops what runs, and lets another cluster begin. */
  async release(): Promise<void> {
    await this.#shell.stdin.close();
    while (await this.#read() !== "");
    await this.#shell.status;
  }

  async #read(): Promise<string> {
    const { value } = await this.#reader.read();
    return value === undefined ? "" : new TextDecoder().decode(value);
  }
}

export interface CannotStart {
  readonly ok: false;
  readonly error: string;
}
