/**
 * The user's kubectl. In: which cluster, and arguments. Out: objects, or what it said against it.
 */
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../controller/kube/types.ts";
import { type CommandAnswer, NOT_THERE, runCommand } from "./command.ts";
import { ADMISSION_API, ADMISSION_KIND, ADMISSION_OVERLAY, hasKind } from "./installation.ts";

export interface ClusterChoice {
  /** Undefined for kubectl's own. */
  readonly context: string | undefined;
  /** A file; undefined for kubectl's own. */
  readonly kubeconfig: string | undefined;
}

/** What the API server or kubectl says against something. */
export class Refusal extends Error {
  override name = "Refusal";
}

export class Kubectl {
  readonly #flags: readonly string[];

  constructor({ context, kubeconfig }: ClusterChoice) {
    this.#flags = [
      ...(context === undefined ? [] : [`--context=${context}`]),
      ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ];
  }

  async answer(args: readonly string[], input?: string): Promise<CommandAnswer> {
    return await runCommand("kubectl", [...this.#flags, ...args], { input });
  }

  /** Its standard output. Throws a Refusal. */
  async text(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.answer(args, input);
    if (code !== 0) throw new Refusal(complaintOf(stderr));
    return stdout;
  }

  /** Objects of these kinds; of a kind that the cluster does not have, none. Throws a Refusal. */
  async list(kinds: string, ...args: readonly string[]): Promise<KubeObject[]> {
    const text = await this.#found(["get", kinds, "--output=json", ...args]);
    return text === "" ? [] : (JSON.parse(text) as { items: KubeObject[] }).items;
  }

  /** Whether there is such an object; there is none of a kind that the cluster does not have. Throws a Refusal. */
  async has(kind: string, name: string): Promise<boolean> {
    return await this.#found(["get", kind, name, "--output=name"]) !== "";
  }

  /** What `get` finds; "" for nothing. Throws a Refusal. */
  async #found(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.answer([...args, "--ignore-not-found"]);
    if (code !== 0 && NO_KIND.test(stderr)) return "";
    if (code !== 0) throw new Refusal(complaintOf(stderr));
    return stdout.trim();
  }

  /**
   * `CONTEXT, https://HOST:PORT`. Throws a Refusal where the kubeconfig names no cluster: kubectl would
   * send requests to localhost:8080 then, where another program may answer, such as `deno task dev`.
   */
  async cluster(): Promise<string> {
    const view = ["config", "view", "--minify", "--output=json"];
    const { code, stdout, stderr } = await this.answer(view);
    if (code === NOT_THERE) throw new Refusal(stderr);
    const config: {
      "current-context"?: string;
      clusters?: readonly { cluster: { server: string } }[] | null;
    } = code === 0 ? JSON.parse(stdout) : {};
    const server = config.clusters?.[0]?.cluster.server;
    if (!server) {
      throw new Refusal(["kubectl knows no cluster.", ...linesOf(stderr), NAME_ONE].join("\n"));
    }
    return [config["current-context"], server]
      .filter((part) => part !== undefined && part !== "").join(", ");
  }

  /** What the admission overlay comes to; null where the API server lacks its kinds. Throws a Refusal. */
  async admissionObjects(): Promise<KubeObject[] | null> {
    if (!await this.serves(ADMISSION_API, ADMISSION_KIND)) return null;
    return await this.build(ADMISSION_OVERLAY);
  }

  /** Whether the API server has the kind. Throws a Refusal. @param api like `/apis/apps/v1`. */
  async serves(api: string, kind: string): Promise<boolean> {
    const { code, stdout, stderr } = await this.answer(["get", "--raw", api]);
    if (code !== 0 && NOT_FOUND.test(stderr)) return false;
    if (code !== 0) throw new Refusal(complaintOf(stderr));
    return hasKind(JSON.parse(stdout), kind);
  }

  /** What a folder of Kustomize comes to. Throws a Refusal. */
  async build(folder: string): Promise<KubeObject[]> {
    return parseObjects(await this.text(["kustomize", folder]));
  }
}

/** The objects of a YAML file. */
export function parseObjects(text: string): KubeObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}

/** One kind for kubectl's standard input. */
export function listText(items: readonly KubeObject[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** What it says of an object or a path that does not exist, or whose namespace does not. */
export const NOT_FOUND = /^Error from server \(NotFound\)/m;

/** No API server knows the kind, as that of a CRD. */
const NO_KIND = /the server doesn't have a resource type/;

/** Without a kubeconfig kubectl asks this address, where nobody runs a cluster. */
const NO_CLUSTER =
  /server localhost:8080 was refused|context was not found|context "[^"]*" does not exist|no configuration has/;

/** What it said, and what to do where it knows no cluster. Its log and repetitions help nobody. */
export function complaintOf(stderr: string): string {
  const lines = linesOf(stderr);
  if (NO_CLUSTER.test(stderr)) lines.push(NAME_ONE);
  return [...new Set(lines)].join("\n");
}

const NAME_ONE =
  "Name a cluster by --kubeconfig or --context; kubectl config get-contexts shows which it knows.";

/** Without kubectl's log. */
function linesOf(stderr: string): string[] {
  return stderr.trim().split("\n").filter((line) => line !== "" && !/^[EWI]\d{4} /.test(line));
}
