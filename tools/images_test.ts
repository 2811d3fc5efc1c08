import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { VERSION } from "../shared/version.ts";

async function images(...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-P=images", "--no-prompt", "tools/images.ts", ...args],
    cwd: join(import.meta.dirname!, ".."),
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

Deno.test("images --dry-run prints the commands, and needs no engine", async () => {
  const { code, stdout, stderr } = await images("--dry-run", "--engine=podman", "--target=run");
  deepEqual([code, stderr], [0, ""]);
  deepEqual(stdout.trimEnd().split("\n"), [
    "$ podman build --file=Dockerfile.controller --target=run " +
    `--tag=ghcr.io/pingress/pingress-controller:${VERSION} .`,
    "$ podman build --file=Dockerfile.proxy --target=run " +
    `--tag=ghcr.io/pingress/pingress-proxy-server:${VERSION} .`,
  ]);
});

Deno.test("images for several platforms are rejected if they cannot be stored", async () => {
  const { code, stderr } = await images("--platform=linux/amd64,linux/arm64", "--engine=docker");
  equal(code, 1);
  match(stderr, /add --push/);
});

Deno.test("an invalid registry, tag or platform is rejected", async () => {
  const { code, stderr } = await images("--registry=https://x", "--tag=a b", "--platform=windows");
  equal(code, 2);
  for (const flag of ["--registry", "--tag", "--platform"]) {
    match(stderr, new RegExp(`^${flag}: `, "m"));
  }
});
