/**
 * The plugin `kubectl pingress` for krew. In: archives of the program by platform. Out: the manifest
 * for krew's index. Pure.
 *
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
import type { COMPILE_TARGETS } from "../deployment_options.ts";
import { assetUrl, REPOSITORY } from "./repository.ts";

export interface Platform {
  readonly target: typeof COMPILE_TARGETS[number];
  readonly os: "linux" | "darwin" | "windows";
  readonly arch: "amd64" | "arm64";
}

export const PLATFORMS: readonly Platform[] = [
  { target: "x86_64-unknown-linux-gnu", os: "linux", arch: "amd64" },
  { target: "aarch64-unknown-linux-gnu", os: "linux", arch: "arm64" },
  { target: "x86_64-apple-darwin", os: "darwin", arch: "amd64" },
  { target: "aarch64-apple-darwin", os: "darwin", arch: "arm64" },
  { target: "x86_64-pc-windows-msvc", os: "windows", arch: "amd64" },
];

/** The program as kubectl finds it. */
export function pluginFile({ os }: Platform): string {
  return `kubectl-pingress${os === "windows" ? ".exe" : ""}`;
}

export function archiveName({ os, arch }: Platform): string {
  return `kubectl-pingress-${os}-${arch}.tar.gz`;
}

export interface Archive {
  readonly platform: Platform;
  /** Hexadecimal. */
  readonly sha256: string;
}

export function krewManifest(version: string, archives: readonly Archive[]) {
  return {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "pingress" },
    spec: {
      version: `v${version}`,
      homepage: REPOSITORY,
      shortDescription: "Check, explain and lint Ingresses of Pingress",
      description:
        "Checks an installation of the ingress controller Pingress, shows the state of its\n" +
        "Ingresses and proxies, explains which route a URL takes, and compares Ingresses\n" +
        "that were written for ingress-nginx with what Pingress serves.\n",
      platforms: archives.map(({ platform, sha256 }) => ({
        selector: { matchLabels: { os: platform.os, arch: platform.arch } },
        uri: assetUrl(version, archiveName(platform)),
        sha256,
        bin: pluginFile(platform),
        files: [{ from: pluginFile(platform), to: "." }, { from: "LICENSE", to: "." }],
      })),
    },
  };
}
