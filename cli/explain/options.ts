/** The command line of `explain`. In: arguments. Out: typed options, a help text, or what is wrong. */
import { parseConfigMapName } from "../../controller/cli/option_values.ts";
import {
  GATEWAY_OPTIONS,
  type Parsed,
  PLAN_OPTIONS,
  SLASH_OPTIONS,
  toPathOptions,
  toPlanOptions,
} from "../../dev/options.ts";
import { DEFAULT_FOLDER } from "../../dev/manifests/named_paths.ts";
import type { PlanOptions } from "../../dev/plan.ts";
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import type { PathOptions } from "../../shared/path/canonical_path.ts";
import {
  isToken,
  parseRequestedHeader,
  parseRequestedUrl,
  type RequestedUrl,
} from "../../shared/path/requested_url.ts";
import {
  CLUSTER_OPTIONS,
  type ClusterChoice,
  clusterChoice,
  SYSTEM_NAMESPACE_OPTION,
} from "../cluster/options.ts";
import { OUTPUT_OPTION, withLongNames } from "../output_option.ts";

export const EXPLAIN_PROGRAM: Program = {
  name: "pingress explain",
  summary: "Shows which route URLs take, and why.",
  positionals: {
    name: "[DIR…] URL…",
    help:
      "URLs such as https://app.example.com/path; those without a scheme are of http. The last " +
      "argument is always a URL. Before it, without --file, arguments without :// are folders or " +
      `files of Kubernetes YAML or JSON. Default: ${DEFAULT_FOLDER}.`,
    min: 1,
    max: 1000,
  },
};

/** The task of the same command. */
export const EXPLAIN_TASK: Program = { ...EXPLAIN_PROGRAM, name: "deno task explain" };

export const EXPLAIN_OPTIONS = defineOptions({
  file: {
    type: "string",
    value: "DIR",
    repeatable: true,
    help: "Folder or file of Kubernetes YAML or JSON; -f for short. All arguments are URLs then.",
  },
  method: {
    type: "string",
    value: "METHOD",
    check: (value) => isToken(value) ? null : "a method such as POST",
    help: "Method of the request. Without the flag GET, and POST for grpc and grpcs.",
  },
  header: {
    type: "string",
    value: "'NAME: VALUE'",
    repeatable: true,
    check: (value) => parseRequestedHeader(value) === null ? "of the form 'X-Beta: yes'" : null,
    help: "Header of the request, in the syntax of curl; -H for short.",
  },
  short: {
    type: "boolean",
    reason: "the reasons take more than a line",
    help: "Prints one line a URL: where its requests go, or what the proxy returns.",
  },
  all: {
    type: "boolean",
    reason: "a host may have thousands of paths",
    help: "Lists every route that lost, not only those that come closest.",
  },
  output: OUTPUT_OPTION,
  gateway: {
    type: "string",
    value: "NAMESPACE/NAME",
    check: (value) =>
      parseConfigMapName(value) === null ? "the name of a Gateway, such as default/web" : null,
    help:
      "Gateway whose address the URL is sent to. Without the flag, one that has routes for the " +
      "host; a URL with the port that deno task dev prints for a listener is sent to that one.",
  },
  ...GATEWAY_OPTIONS,
  ...SLASH_OPTIONS,
  sslRedirect: {
    type: "boolean",
    reason: "as for deno task dev",
    help:
      "Also shows the redirect to HTTPS of hosts with generated certificates, as deno task dev " +
      "--ssl-redirect. That of hosts with a certificate of their own is always shown.",
  },
  ...PLAN_OPTIONS,
  cluster: {
    type: "boolean",
    reason: "a folder needs no rights",
    group: "The cluster",
    help:
      "Explains what a cluster serves, in place of folders. The flags of its controller count, not " +
      "those of this command; no Secret is read.",
  },
  proxy: {
    type: "string",
    value: "POD",
    check: (value) =>
      /^(?:[a-z0-9-]+\/)?[a-z0-9][a-z0-9.-]*$/.test(value) ? null : "the name of a pod",
    group: "The cluster",
    help:
      "Lets one proxy of a cluster explain, as it serves at this moment: POD, or NAMESPACE/POD. " +
      "Needs the verbs get and create on pods/portforward.",
  },
  ...CLUSTER_OPTIONS,
  ...SYSTEM_NAMESPACE_OPTION,
});

export interface ExplainOptions {
  /** In place of folders; null for folders. */
  readonly cluster: ExplainedCluster | null;
  /** Folders and files; those that are named, or the examples. */
  readonly paths: readonly string[];
  readonly requests: readonly AskedRequest[];
  /** Of all requests, names in any case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly isShort: boolean;
  readonly showsAll: boolean;
  readonly output: "text" | "json";
  readonly pathOptions: PathOptions;
  readonly sslRedirect: boolean;
  /** `namespace/name`; null for none in particular. */
  readonly gateway: string | null;
  readonly plan: PlanOptions;
}

export interface ExplainedCluster {
  readonly choice: ClusterChoice;
  readonly environment: (name: string) => string | undefined;
  /** Of the installation. */
  readonly namespace: string;
  /** `POD` or `NAMESPACE/POD`; null for the cluster as its controller has it. */
  readonly proxy: string | null;
}

export interface AskedRequest {
  readonly url: RequestedUrl;
  readonly method: string;
}

/** Folder that is served without any other. */

/** Never throws for what a user wrote. @param program As it was started. */
export function parseExplainOptions(
  args: readonly string[],
  program = EXPLAIN_PROGRAM,
): Parsed<ExplainOptions> {
  const parsed = parseOptions(program, EXPLAIN_OPTIONS, withLongNames(args));
  if (parsed.kind !== "ok") return parsed;
  const { options, positionals } = parsed;
  const isCluster = options.cluster || options.proxy !== undefined || options.context !== undefined;
  const { paths, urls } = isCluster
    ? { paths: [], urls: positionals }
    : split(positionals, options.file);
  const requests: AskedRequest[] = [];
  const given = options.header.flatMap((text) => {
    const header = parseRequestedHeader(text);
    return header === null ? [] : [header];
  });
  const headers = given.filter(([name]) => name.toLowerCase() !== "host");
  const [, host = null] = given.find((header) => !headers.includes(header)) ?? [];
  const faults = isCluster && options.file.length > 0
    ? [
      "--file and a cluster exclude each other: remove --file, or --cluster, --context and --proxy",
    ]
    : !isCluster && options.kubeconfig !== undefined
    ? ["--kubeconfig needs --cluster, --context or --proxy"]
    : [];
  for (const text of urls) {
    const dialled = parseRequestedUrl(text);
    const url = dialled === null || host === null ? dialled : withHost(dialled, host);
    if (dialled === null) {
      faults.push(`${JSON.stringify(text)} is no URL like https://app.example.com/path`);
    } else if (url === null) {
      faults.push(`--header 'Host: ${host}' names no host like app.example.com`);
    } else {
      const method = options.method ?? (/^grpcs?:/i.test(text) ? "POST" : "GET");
      requests.push({ url, method });
    }
  }
  if (faults.length > 0) {
    faults.push(`${program.name} --help lists the flags`);
    return { kind: "error", text: faults.join("\n") };
  }
  return {
    kind: "ok",
    options: {
      cluster: isCluster
        ? {
          choice: clusterChoice(options),
          environment: (name) => Deno.env.get(name),
          namespace: options.systemNamespace,
          proxy: options.proxy ?? null,
        }
        : null,
      paths,
      requests,
      headers,
      isShort: options.short,
      showsAll: options.all,
      output: options.output,
      pathOptions: toPathOptions(options),
      sslRedirect: options.sslRedirect,
      gateway: options.gateway ?? null,
      plan: toPlanOptions(options),
    },
  };
}

/** As curl sends it: the header names the host, wherever the URL leads. Null for what is no host. */
function withHost(url: RequestedUrl, host: string): RequestedUrl | null {
  const named = parseRequestedUrl(`${url.scheme}://${host}/`);
  return named === null || named.rawPath !== "/"
    ? null
    : { ...url, host: named.host, port: named.port };
}

function split(
  positionals: readonly string[],
  files: readonly string[],
): { readonly paths: readonly string[]; readonly urls: readonly string[] } {
  if (files.length > 0) return { paths: files, urls: positionals };
  const isUrl = (text: string, i: number) => i === positionals.length - 1 || text.includes("://");
  const paths = positionals.filter((text, i) => !isUrl(text, i));
  return {
    paths: paths.length === 0 ? [DEFAULT_FOLDER] : paths,
    urls: positionals.filter(isUrl),
  };
}
