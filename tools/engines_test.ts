import { deepEqual } from "node:assert/strict";
import { buildCommands, type Engine, type ImageBuild } from "./engines.ts";

const BUILD: ImageBuild = {
  dockerfile: "Dockerfile.proxy",
  target: "run",
  reference: "registry.example.com/team/proxy:1",
  platforms: [],
  push: false,
  packages: null,
  buildArgs: [],
};
const BOTH = ["linux/amd64", "linux/arm64"];
const COMMON = ["--file=Dockerfile.proxy", "--target=run"];
const TAG = `--tag=${BUILD.reference}`;

const CASES: [Engine, Partial<ImageBuild>, string[][]][] = [
  ["docker", {}, [["buildx", "build", ...COMMON, TAG, "--load", "."]]],
  ["podman", {}, [["build", ...COMMON, TAG, "."]]],
  ["docker", { push: true, platforms: BOTH }, [
    ["buildx", "build", ...COMMON, "--platform=linux/amd64,linux/arm64", TAG, "--push", "."],
  ]],
  ["buildah", { push: true }, [["build", ...COMMON, TAG, "."], ["push", BUILD.reference]]],
  ["buildah", { push: true, platforms: BOTH }, [
    [
      "build",
      ...COMMON,
      "--platform=linux/amd64,linux/arm64",
      `--manifest=${BUILD.reference}`,
      ".",
    ],
    ["manifest", "push", "--all", BUILD.reference, `docker://${BUILD.reference}`],
  ]],
  ["buildah", { packages: "/cache/npm", buildArgs: ["DENO=deno:1"] }, [[
    "build",
    ...COMMON,
    "--build-arg=DENO=deno:1",
    "--build-context=npm=/cache/npm",
    "--pull-never",
    TAG,
    ".",
  ]]],
];

for (const [engine, change, commands] of CASES) {
  Deno.test(`${engine} builds ${JSON.stringify(change)}`, () => {
    deepEqual(buildCommands(engine, { ...BUILD, ...change }), commands);
  });
}
