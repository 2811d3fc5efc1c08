/**
 * The flags by which commands find a cluster. In: values of the command line and the environment. Out: the
 * kubeconfig, its context and the time-out.
 */
import { delimiter } from "node:path";
import { labelCheck } from "../../controller/cli/option_values.ts";
import {
  type CredentialSource,
  SERVICE_ACCOUNT_FOLDER,
} from "../../controller/kube/credential_source.ts";
import { defineOptions } from "../../shared/options.ts";

export const CLUSTER_OPTIONS = defineOptions({
  context: {
    type: "string",
    value: "NAME",
    group: "The cluster",
    help: "Context of the kubeconfig. Without the flag: its current context.",
  },
  kubeconfig: {
    type: "string",
    value: "FILE",
    group: "The cluster",
    help: "Without the flag: the files that KUBECONFIG names, or ~/.kube/config.",
  },
  timeout: {
    type: "duration",
    default: 30_000,
    min: 100,
    max: 600_000,
    reason: "a large cluster takes seconds",
    group: "The cluster",
    help: "Gives up on what the API server has not answered by then.",
  },
});

/** Where Pingress itself runs. */
export const SYSTEM_NAMESPACE_OPTION = defineOptions({
  systemNamespace: {
    type: "string",
    value: "NAME",
    default: "pingress-system",
    reason: "that of the manifests",
    check: labelCheck("the name of a namespace"),
    group: "The cluster",
    help: "Namespace of the controller and the proxies.",
  },
});

export interface ClusterChoice {
  /** Null where the environment says. */
  readonly kubeconfig: string | null;
  /** Null for the kubeconfig's current one. */
  readonly context: string | null;
  /** Milliseconds. */
  readonly timeout: number;
}

export function clusterChoice(
  options: {
    readonly kubeconfig: string | undefined;
    readonly context: string | undefined;
    readonly timeout: number;
  },
): ClusterChoice {
  const { kubeconfig = null, context = null, timeout } = options;
  return { kubeconfig, context, timeout };
}

/** Where credentials are; null where the environment names neither a file nor the API server of a pod. */
export function credentialSource(
  { kubeconfig, context }: ClusterChoice,
  environment: (name: string) => string | undefined,
): CredentialSource | null {
  // Other programs than the controller's image may not read these variables.
  const [host = "", port = ""] = ["HOST", "PORT"].map((name) =>
    environment(`KUBERNETES_SERVICE_${name}`)
  );
  const isNamed = kubeconfig !== null || context !== null ||
    (environment("KUBECONFIG") ?? "") !== "";
  if (!isNamed && host !== "" && port !== "") {
    return { kind: "service-account", host, port, folder: SERVICE_ACCOUNT_FOLDER };
  }
  const [file, ...others] = kubeconfig === null ? defaultKubeconfig(environment) : [kubeconfig];
  return file === undefined ? null : { kind: "kubeconfig", file, others, context };
}

/**
 * The files that are it, as kubectl finds them; none where nothing says.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 */
export function defaultKubeconfig(
  environment: (name: string) => string | undefined,
): readonly string[] {
  const named = environment("KUBECONFIG") ?? "";
  if (named !== "") return named.split(delimiter).filter((file) => file !== "");
  const home = environment("HOME") ?? environment("USERPROFILE") ?? "";
  return home === "" ? [] : [`${home}/.kube/config`];
}
