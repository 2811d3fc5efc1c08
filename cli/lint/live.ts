/**
 * A cluster in place of a folder. In: the context of a kubeconfig. Out: what lint reads of the cluster, or
 * one sentence that says why it cannot be read.
 */
import { openCluster } from "../cluster/cluster.ts";
import type { LocatedObject } from "./cluster_findings.ts";
import { type ClusterReading, readCluster } from "./cluster_reader.ts";
import { leftOutOfCluster } from "./left_out.ts";
import type { LintInput } from "./lint_input.ts";
import type { Progress } from "../terminal/progress.ts";
import { clauseOf } from "../../shared/problem.ts";

export interface LiveOptions {
  /** Null where the environment says. */
  readonly kubeconfig: string | null;
  readonly context: string;
  /** Empty for all. */
  readonly namespaces: readonly string[];
  /** `NAMESPACE/NAME`; null for none. */
  readonly configMap: string | null;
  /** Milliseconds. */
  readonly timeout: number;
}

export type LiveReading =
  | { readonly ok: true; readonly input: LintInput; readonly configMap: LocatedObject | null }
  /** One sentence, with what helps. */
  | { readonly ok: false; readonly message: string };

/**
 * @param environment Of the process, which main alone reads.
 * @param progress Paused while a credential plugin asks the user.
 */
export async function readLive(
  options: LiveOptions,
  environment: (name: string) => string | undefined,
  progress: Progress,
): Promise<LiveReading> {
  const opened = await openCluster(options, environment, progress);
  if (!opened.ok) return opened;
  const { cluster } = opened;
  try {
    return fromReading(await readCluster(cluster, options), options);
  } finally {
    cluster.close();
  }
}

function fromReading(
  { resources, configMap, unread }: ClusterReading,
  options: LiveOptions,
): LiveReading {
  // Without Ingresses there is nothing to lint.
  const noIngresses = unread.find(({ message }) => message.startsWith("cannot list ingresses"));
  if (noIngresses !== undefined && resources.ingresses.length === 0) {
    return { ok: false, message: `${noIngresses.message}; ${clauseOf(noIngresses.remedy)}` };
  }
  return {
    ok: true,
    configMap: configMap === null ? null : { value: { ...configMap }, locate: () => null },
    input: {
      resources,
      objects: [],
      problems: [],
      unread,
      notChecked: [
        ...leftOutOfCluster(options.namespaces),
        ...(options.configMap !== null ? [] : [{
          message:
            "whether ingress-nginx was started with --configmap is not checked, nor are its " +
            "other arguments",
          remedy:
            "Add --configmap NAMESPACE/NAME if its Deployment has one, and lint the file of the " +
            "Deployment as well",
          at: null,
        }]),
      ],
      hasSecrets: false,
      locate: () => null,
      excerptAt: () => null,
    },
  };
}
