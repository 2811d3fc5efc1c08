/** The package.json of the npm package. In: `deno.json`. Out: its value. */

/** Of npm's package `deno`, which is used where no Deno is on PATH: that of the images. */
export const DENO_PACKAGE = "2.9.6";

export interface Described {
  readonly version: string;
  readonly license: string;
}

export function packageJson({ version, license }: Described) {
  return {
    name: "pingress",
    version,
    description: "Ingress controller and reverse proxy of Kubernetes: the command line",
    license,
    homepage: "https://github.com/pingress/pingress",
    repository: { type: "git", url: "git+https://github.com/pingress/pingress.git" },
    bin: {
      pingress: "bin/pingress.cjs",
      "kubectl-pingress": "bin/pingress.cjs",
      // By this name kubectl asks a plugin what may be typed next.
      "kubectl_complete-pingress": "bin/kubectl_complete.cjs",
    },
    files: ["bin", "lib", "THIRD_PARTY_LICENSES"],
    engines: { node: ">=18" },
    dependencies: { deno: DENO_PACKAGE },
  };
}
