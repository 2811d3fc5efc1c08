/**
 * How docker, podman and buildah are told the same. In: what to build. Out: command lines, in order.
 * Pure.
 */
import type { ENGINES } from "./deployment_options.ts";

export type Engine = typeof ENGINES[number];

export interface ImageBuild {
  readonly dockerfile: string;
  /** Stage of the Dockerfile. */
  readonly target: string;
  /** `registry.example.com/team/name:tag`. */
  readonly reference: string;
  /** Empty for that of this machine. */
  readonly platforms: readonly string[];
  readonly push: boolean;
  /** The folder `npm` of a cache of Deno's, in place of registries; null to ask those. */
  readonly packages: string | null;
  /** `NAME=VALUE`. */
  readonly buildArgs: readonly string[];
}

/** Arguments by which an engine says that it works here. */
export const PROBES: Readonly<Record<Engine, readonly string[]>> = {
  // A client may be there without a server.
  docker: ["buildx", "ls"],
  podman: ["version"],
  buildah: ["version"],
};

/** Arguments of the engine, one list a command. */
export function buildCommands(engine: Engine, build: ImageBuild): string[][] {
  const { reference, platforms, push } = build;
  const common = [
    `--file=${build.dockerfile}`,
    `--target=${build.target}`,
    ...build.buildArgs.map((pair) => `--build-arg=${pair}`),
    ...(build.packages === null ? [] : [`--build-context=npm=${build.packages}`]),
    ...(platforms.length === 0 ? [] : [`--platform=${platforms.join(",")}`]),
  ];
  if (engine === "docker") {
    const tag = `--tag=${reference}`;
    return [["buildx", "build", ...common, tag, push ? "--push" : "--load", "."]];
  }
  const isList = platforms.length > 1;
  const never = engine === "buildah" ? "--pull-never" : "--pull=never";
  return [
    [
      "build",
      ...common,
      ...(build.packages === null ? [] : [never]),
      isList ? `--manifest=${reference}` : `--tag=${reference}`,
      ".",
    ],
    ...(push
      ? [
        isList ? ["manifest", "push", "--all", reference, `docker://${reference}`] : [
          "push",
          reference,
        ],
      ]
      : []),
  ];
}

/** Arguments that print what the image takes on disk; the answer is in bytes, or for people. */
export function sizeCommand(engine: Engine, reference: string): string[] {
  return engine === "buildah"
    ? ["images", "--format={{.Size}}", reference]
    : ["image", "inspect", "--format={{.Size}}", reference];
}
