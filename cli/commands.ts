/** The commands of `pingress`. In: nothing. Out: one row a command, in the order of the help. */
import type { Command } from "./command.ts";

export const COMMANDS: readonly Command[] = [
  {
    name: "dev",
    summary: "Serves a folder of manifests on this machine, without a cluster.",
    permissions: "dev",
    load: () => import("./dev/command.ts"),
  },
  {
    name: "check",
    summary: "Checks an installation in a cluster, and says what helps.",
    permissions: "cluster",
    load: () => import("./check/main.ts"),
  },
  {
    name: "status",
    summary: "Lists Ingresses, Gateways, proxies and controllers of a cluster.",
    permissions: "cluster",
    load: () => import("./status/main.ts"),
  },
  {
    name: "lint",
    summary: "Compares Ingresses written for ingress-nginx with what is served here.",
    permissions: "lint",
    load: () => import("./lint/command.ts"),
  },
  {
    name: "explain",
    summary: "Shows which route URLs take, and why.",
    permissions: "cluster",
    load: () => import("./explain/explain.ts"),
  },
  {
    name: "diff",
    summary: "Shows which routes, certificates and answers new manifests change.",
    permissions: "diff",
    load: () => import("./diff/diff.ts"),
  },
  {
    name: "codes",
    summary: "Explains the codes of problems, and of responses of proxies.",
    permissions: "offline",
    load: () => import("./codes/codes.ts"),
  },
  {
    name: "completion",
    summary: "Prints a script that completes commands, flags and values in a shell.",
    permissions: "offline",
    load: () => import("./completion/completion.ts"),
  },
  {
    name: "version",
    summary: "Prints the version.",
    permissions: "offline",
    load: () => import("./version/version.ts"),
  },
];
