/**
 * The command lines of `deno task compile`, `images`, `deploy` and `undeploy`: what each takes.
 */
import { BACKENDS } from "../controller/cli/option_specs.ts";
import { defineOptions, type Program } from "../shared/options.ts";
import { VERSION } from "../shared/version.ts";

/** Those for which Deno has a part to put executables together from. */
const COMPILE_TARGETS = [
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
  summary: "Makes executables of controller and proxy in dist/, with their permissions in them.",
};

export const COMPILE_OPTIONS = defineOptions({
  target: {
    type: "choice",
    choices: COMPILE_TARGETS,
    repeatable: true,
    help: "Makes them for these systems, with the system in their names, in place of this one.",
  },
});

export const IMAGES_PROGRAM: Program = {
  name: "deno task images",
  summary: "Builds the images of controller and proxy, and pushes them where asked to.",
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
    help: "Builds with this one. Without the flag, with the first of them that works here.",
  },
  target: {
    type: "choice",
    choices: IMAGE_TARGETS,
    default: "compiled",
    reason:
      "no deno command is left in it; run is for where the download that it needs is out of " +
      "reach",
    help: "compiled puts in an executable, run Deno itself and the cached sources.",
  },
  registry: { ...REGISTRY, help: "Begins the images' names." },
  tag: { ...TAG, help: "Ends the images' names." },
  platform: {
    type: "string",
    value: "OS/ARCH,…",
    check: (value) =>
      /^linux\/(amd64|arm64)(,linux\/(amd64|arm64))*$/.test(value)
        ? null
        : "linux/amd64, linux/arm64, or both with a comma between",
    help: "Builds for these platforms, in place of this machine's; several only with --push.",
  },
  push: { type: "boolean", help: "Pushes the images to the registry." },
  offline: {
    type: "boolean",
    help:
      "Takes npm's packages from Deno's cache of this machine, and base images that are here, " +
      "and asks no registry. With --target run, nothing is downloaded then.",
  },
  buildArg: {
    type: "string",
    value: "NAME=VALUE",
    repeatable: true,
    check: (value) => /^\w+=/.test(value) ? null : "of the form NAME=VALUE",
    help: "Sets what a Dockerfile takes: DENO and RUNTIME, the base images, and " +
      "NPM_CONFIG_REGISTRY.",
  },
  dryRun: { type: "boolean", help: "Prints the commands, and runs none." },
});

const CLUSTER_OPTIONS = defineOptions({
  context: {
    type: "string",
    value: "NAME",
    help: "The kubeconfig's context. Without the flag, the current one.",
  },
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: "The kubeconfig. Without the flag, the one that kubectl takes.",
  },
});

export const DEPLOY_PROGRAM: Program = {
  name: "deno task deploy",
  summary: "Installs Pingress in the cluster of a kubeconfig, and waits until it runs.",
};

export const DEPLOY_OPTIONS = defineOptions({
  ...CLUSTER_OPTIONS,
  registry: { ...REGISTRY, help: "Begins the images' names." },
  tag: { ...TAG, help: "Ends the images' names." },
  backend: {
    type: "choice",
    choices: BACKENDS,
    default: "HostPort",
    reason: "it works in any cluster",
    help: "HostPort runs a proxy on each node, on its ports 80 and 443; LoadBalancer runs some, " +
      "behind a Service.",
  },
  timeout: {
    type: "duration",
    default: 300_000,
    min: 1000,
    help: "Waits this long for everything to run, and then says what is missing.",
  },
  dryRun: {
    type: "boolean",
    help: "Has the API server check everything, prints what would be done, and changes nothing.",
  },
});

export const UNDEPLOY_PROGRAM: Program = {
  name: "deno task undeploy",
  summary: "Removes Pingress from the cluster of a kubeconfig, and all that it has made there.",
};

export const UNDEPLOY_OPTIONS = defineOptions({
  ...CLUSTER_OPTIONS,
  yes: { type: "boolean", help: "Asks nothing." },
  timeout: {
    type: "duration",
    default: 420_000,
    reason: "proxies may let requests finish for five minutes",
    min: 1000,
    help: "Waits this long for what is deleted to be gone.",
  },
  dryRun: { type: "boolean", help: "Prints what would be deleted, and deletes nothing." },
});
