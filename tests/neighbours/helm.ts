/**
 * The real Helm. In: arguments. Out: what it said and its exit code, and the objects that it makes of
 * the chart. Built once from its Go module.
 */
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { CHART } from "../../tools/chart/chart_files.ts";
import type { KubeObject } from "../cluster/support/api_client.ts";
import { findPrograms, type PublishedProgram } from "../peers/go_program.ts";

export const HELM: PublishedProgram = { name: "helm", module: "helm.sh/helm/v4/cmd/helm@v4.3.1" };

export const ROOT = join(import.meta.dirname!, "..", "..");

/** Of the manifests. */
export const NAMESPACE = "pingress-system";

/** Of the release in tests; any would do. */
export const RELEASE = "edge";

export interface HelmAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TemplateOptions {
  readonly namespace?: string;
  /** As of a file with `--values`. */
  readonly values?: unknown;
  /** Further arguments, such as `--set`. */
  readonly args?: readonly string[];
}

export class Helm {
  readonly #program: string;
  /** Of a cluster; null where none is needed. */
  readonly #kubeconfig: string | null;
  /** For its cache and configuration: not those of the user. */
  readonly #home: string;

  private constructor(program: string, kubeconfig: string | null, home: string) {
    this.#program = program;
    this.#kubeconfig = kubeconfig;
    this.#home = home;
  }

  /** Null where it is missing: then `test` is skipped, and this says why. */
  static async find(test: string, kubeconfig: string | null = null): Promise<Helm | null> {
    const found = await findPrograms(test, [HELM]);
    return found === null
      ? null
      : new Helm(found[0], kubeconfig, await Deno.makeTempDir({ prefix: "pingress-helm-" }));
  }

  async run(args: readonly string[], input = ""): Promise<HelmAnswer> {
    const child = new Deno.Command(this.#program, {
      args: [...args],
      cwd: ROOT,
      clearEnv: true,
      env: {
        HOME: this.#home,
        PATH: Deno.env.get("PATH") ?? "",
        // Nobody's cluster by mistake.
        KUBECONFIG: this.#kubeconfig ?? "/dev/null",
      },
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

  /** Throws what Helm says where it fails. */
  async succeed(args: readonly string[], input = ""): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    if (code !== 0) throw new Error(`helm ${args.join(" ")}: ${stderr || stdout}`);
    return stdout;
  }

  async tryTemplate(
    { namespace = NAMESPACE, values, args = [] }: TemplateOptions = {},
  ): Promise<HelmAnswer> {
    const files = values === undefined ? [] : ["--values=-"];
    return await this.run(
      ["template", RELEASE, CHART, `--namespace=${namespace}`, ...files, ...args],
      values === undefined ? "" : stringify(values),
    );
  }

  /** The objects of a release, hooks aside. */
  async template(options: TemplateOptions = {}): Promise<KubeObject[]> {
    const args = ["--no-hooks", ...options.args ?? []];
    const { code, stdout, stderr } = await this.tryTemplate({ ...options, args });
    if (code !== 0) throw new Error(stderr);
    return objectsOf(stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#home, { recursive: true });
  }
}

/** Objects of YAML, without documents that are empty. */
export function objectsOf(text: string): KubeObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

/** `Deployment pingress-system pingress-controller`. */
export function keyOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace ?? ""} ${metadata.name}`;
}
