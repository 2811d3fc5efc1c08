/**
 * The command lines of `deno task compile`, `images`, `deploy` and `undeploy`: what each takes.
 */
import { BACKENDS } from "../controller/cli/option_specs.ts";
import { defineOptions, type Program } from "../shared/options.ts";
import { VERSION } from "../shared/version.ts";
import { CRD_RELEASE } from "./gateway_crds.ts";

/** Those for which Deno has a part to put executables together from. */
export const COMPILE_TARGETS = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
] as const;

export const ENGINES = ["docker", "podman", "buildah"] as const;

export const IMAGE_TARGETS = ["compiled", "run"] as const;

const DEFAULT_REGISTRY = "ghcr.io/pingress";

export const COMPILE_PROGRAM: Program = {
  name: "deno task compile",
  summary:
    "Compiles controller, proxy or pingress to executables in dist/, with their permissions.",
};

export const COMPILE_OPTIONS = defineOptions({
  program: {
    type: "choice",
    choices: ["controller", "proxy", "pingress"],
    repeatable: true,
    default: ["controller", "proxy"],
    reason: "the programs of a cluster",
    help: "Programs to compile; pingress is the command line. Replaces the default.",
  },
  target: {
    type: "choice",
    choices: COMPILE_TARGETS,
    repeatable: true,
    help: "Compiles for these systems instead of this one; the file names contain the system.",
  },
});

export const PACKAGE_PROGRAM: Program = {
  name: "deno task package",
  summary: "Makes the npm package of the program pingress, with a bundle of its code.",
};

export const PACKAGE_OPTIONS = defineOptions({
  output: {
    type: "string",
    value: "DIR",
    default: "dist/npm",
    help: "Folder for the package. What is in it is removed first.",
  },
});

export const IMAGES_PROGRAM: Program = {
  name: "deno task images",
  summary: "Builds the images of controller and proxy, and optionally pushes them.",
};

const REGISTRY = {
  type: "string",
  value: "HOST/PATH",
  default: DEFAULT_REGISTRY,
  check: (value: string) =>
    /^[\w.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(value)
      ? null
      : "of the form registry.example.com/team",
} as const;

const TAG = {
  type: "string",
  value: "TAG",
  default: VERSION,
  reason: "the version of these sources",
  check: (value: string) =>
    /^\w[\w.-]{0,127}$/.test(value) ? null : "letters, digits, dots, dashes and underscores",
} as const;

export const IMAGES_OPTIONS = defineOptions({
  engine: {
    type: "choice",
    choices: ENGINES,
    help: "Container engine. Without the flag: the first of these that works.",
  },
  target: {
    type: "choice",
    choices: IMAGE_TARGETS,
    default: "compiled",
    reason:
      "it contains no deno command; use run where the download that compiling needs is not reachable",
    help: "compiled: images with an executable. run: images with Deno and the program.",
  },
  registry: { ...REGISTRY, help: "Registry and path of the images." },
  tag: { ...TAG, help: "Tag of the images." },
  platform: {
    type: "string",
    value: "OS/ARCH,…",
    check: (value) =>
      /^linux\/(amd64|arm64)(,linux\/(amd64|arm64))*$/.test(value)
        ? null
        : "linux/amd64, linux/arm64, or both with a comma between",
    help: "Builds for these platforms instead of this machine's. Several require --push.",
  },
  push: { type: "boolean", help: "Pushes the images to the registry." },
  offline: {
    type: "boolean",
    help:
      "Uses npm packages of Deno's cache and local base images only, and contacts no registry. With " +
      "--target run, nothing is downloaded.",
  },
  buildArg: {
    type: "string",
    value: "NAME=VALUE",
    repeatable: true,
    check: (value) => /^\w+=/.test(value) ? null : "of the form NAME=VALUE",
    help: "Build argument of the Dockerfiles: DENO and RUNTIME, the base images, and " +
      "NPM_CONFIG_REGISTRY.",
  },
  dryRun: { type: "boolean", help: "Prints the commands without running them." },
});

const CLUSTER_OPTIONS = defineOptions({
  context: {
    type: "string",
    value: "NAME",
    help: "Context of the kubeconfig. Without the flag: its current context.",
  },
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: "The kubeconfig. Without the flag: the one that kubectl uses.",
  },
});

export const DEPLOY_PROGRAM: Program = {
  name: "deno task deploy",
  summary: "Installs Pingress in the cluster of a kubeconfig, and waits until it is ready.",
};

export const DEPLOY_OPTIONS = defineOptions({
  ...CLUSTER_OPTIONS,
  registry: { ...REGISTRY, help: "Registry and path of the images." },
  tag: { ...TAG, help: "Tag of the images." },
  backend: {
    type: "choice",
    choices: BACKENDS,
    default: "HostPort",
    reason: "it works in any cluster",
    help: "HostPort: a DaemonSet of proxies on ports 80 and 443 of the nodes. LoadBalancer: a " +
      "Deployment of proxies behind a Service.",
  },
  gateway: {
    type: "boolean",
    help:
      "Also applies overlays/gateway, with which the controller serves Gateway API: its rights " +
      "and a GatewayClass. Without the flag, what was applied before stays.",
  },
  gatewayCrds: {
    type: "string",
    value: "FILE|URL",
    bare: CRD_RELEASE,
    help: "Also applies CRDs of Gateway API (standard channel) from a file, folder or URL; " +
      "without a value, those of the release v1.6.3. Newer or experimental CRDs are never " +
      "replaced. Implies --gateway.",
  },
  timeout: {
    type: "duration",
    default: 300_000,
    min: 1000,
    help: "Maximum time to wait until everything is ready. After it, prints what is missing.",
  },
  dryRun: {
    type: "boolean",
    help:
      "Validates everything with the API server and prints what would be done, without changes.",
  },
});

export const UNDEPLOY_PROGRAM: Program = {
  name: "deno task undeploy",
  summary: "Removes Pingress and everything it created from the cluster of a kubeconfig.",
};

export const UNDEPLOY_OPTIONS = defineOptions({
  ...CLUSTER_OPTIONS,
  yes: { type: "boolean", help: "Does not ask for confirmation." },
  timeout: {
    type: "duration",
    default: 420_000,
    reason: "proxies drain for up to five minutes",
    min: 1000,
    help: "Maximum time to wait until everything is deleted.",
  },
  dryRun: { type: "boolean", help: "Prints what would be deleted, without deleting it." },
});
