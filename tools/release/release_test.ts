import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { runCommand } from "../command.ts";
import { commandLineProgram } from "../compile.ts";
import { COMPILE_TARGETS } from "../deployment_options.ts";
import { compileArguments } from "../programs.ts";
import { releaseNotes } from "./notes.ts";
import { digestOf, signCommands } from "./signatures.ts";
import { PLATFORMS } from "./krew.ts";
import { sbomOf } from "./sbom.ts";

const ROOT = join(import.meta.dirname!, "../..");
const CONFIG = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));

const CHANGELOG = `# Changelog

## Unreleased

### Added

- New ([docs](docs/new.md#a), [site](https://a.test/), [below](#x)).

## 1.2.0 (2026-01-02)

- Second.

## 1.2.0-rc.1

- First.
`;

Deno.test("release notes are the section of the version, with links that lead to its pages", () => {
  assert.equal(releaseNotes(CHANGELOG, "1.2.0", "1.2.0"), "- Second.\n");
  assert.equal(releaseNotes(CHANGELOG, "1.2.0-rc.1", "1.2.0-rc.1"), "- First.\n");
  assert.equal(releaseNotes(CHANGELOG, "1.3.0", "1.3.0"), null);
  assert.equal(
    releaseNotes(CHANGELOG, "Unreleased", "1.3.0"),
    "### Added\n\n- New ([docs](https://github.com/pingress/pingress/blob/v1.3.0/docs/new.md#a), " +
      "[site](https://a.test/), [below](#x)).\n",
  );
});

Deno.test("release:notes prints what is not released yet, and names a missing section", async () => {
  const notes = await task("release:notes", ["--unreleased"]);
  assert.equal(notes.code, 0, notes.stderr);
  assert.match(notes.stdout, /^### /m);
  const missing = await task("release:notes", ["--version=99.0.0"]);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /has no section "## 99\.0\.0"/);
});

Deno.test("images are signed by their digest, and their packages attested", async () => {
  const digest = `sha256:${"a".repeat(64)}`;
  assert.equal(digestOf(`Name: x\nMediaType: y\nDigest:    ${digest}\n\nManifests:\n`), digest);
  assert.equal(digestOf("nothing"), null);
  assert.deepEqual(signCommands({ repository: "r.test/a", digest, sbom: "dist/a.spdx.json" }), [
    ["sign", "--yes", "--recursive", `r.test/a@${digest}`],
    [
      "attest",
      "--yes",
      "--type",
      "spdxjson",
      "--predicate",
      "dist/a.spdx.json",
      `r.test/a@${digest}`,
    ],
  ]);
  const { code, stdout } = await task("release:sign", ["--dry-run", "--registry=r.test/x"]);
  assert.equal(code, 0);
  assert.equal(stdout.match(/^\$ cosign sign .*r\.test\/x\/pingress-/mg)?.length, 2, stdout);
});

Deno.test("a list of packages has each with its hash, and the same text for the same sources", () => {
  const package_ = { name: "@a/b", version: "1.0.0", dependencies: [], localPath: "/x" };
  const program = {
    name: "pingress-proxy-server",
    version: "1.2.0",
    license: "Apache-2.0",
    packages: new Map([["@a/b@1.0.0", package_]]),
  };
  const sources = {
    hashes: { "@a/b@1.0.0": { integrity: "sha512-AAEC/w==" } },
    licenseOf: () => "MIT",
    created: "2026-01-02T00:00:00Z",
  };
  const document = sbomOf(program, sources);
  assert.deepEqual(sbomOf(program, sources), document);
  assert.equal(document.spdxVersion, "SPDX-2.3");
  const [, listed] = document.packages;
  assert.deepEqual(
    { checksums: [{ algorithm: "SHA512", checksumValue: "000102ff" }], license: "MIT" },
    { checksums: "checksums" in listed ? listed.checksums : null, license: listed.licenseDeclared },
  );
  const ids = new Set(document.packages.map(({ SPDXID }) => SPDXID));
  for (const { relatedSpdxElement } of document.relationships) {
    assert.ok(ids.has(relatedSpdxElement), relatedSpdxElement);
  }
});

Deno.test("release:sbom lists the packages of every program", async () => {
  await inFolder(async (folder) => {
    const { code, stderr } = await task("release:sbom", [`--output=${folder}`], ["-A"]);
    assert.equal(code, 0, stderr);
    for (const name of ["pingress-controller", "pingress-proxy-server", "pingress"]) {
      const { packages } = JSON.parse(Deno.readTextFileSync(join(folder, `${name}.spdx.json`)));
      assert.ok(packages.length > 2, name);
      for (const each of packages.slice(1)) assert.equal(each.checksums.length, 1, each.name);
    }
  });
});

Deno.test("the executable has the program, each of its threads, and the rights of its task", async () => {
  const program = await commandLineProgram(ROOT);
  const [main, ...threads] = program.entries;
  assert.equal(main, "cli/main.ts");
  assert.ok(threads.includes("proxy/filters/passwords/verifier.ts"));
  const args = compileArguments(CONFIG, program, {
    output: "dist/pingress",
    target: "aarch64-apple-darwin",
    excluded: [],
  });
  assert.ok(args.includes("-P=pingress") && args.includes("--no-prompt"));
  assert.ok(args.every((flag) => !flag.startsWith("--unstable-")));
  for (const thread of threads) assert.ok(args.includes(`--include=${thread}`), thread);
  assert.deepEqual(args.slice(-2), ["--output=dist/pingress", "cli/main.ts"]);
});

Deno.test("the kubectl plugin has an archive a platform, and a manifest with their hashes", async () => {
  assert.deepEqual(PLATFORMS.map(({ target }) => target), [...COMPILE_TARGETS]);
  await inFolder(async (folder) => {
    const missing = await task("release:krew", [`--input=${folder}`, `--output=${folder}/krew`], [
      "-A",
    ]);
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /deno task compile --program pingress --target x86_64-unknown-linux-gnu/,
    );
    for (const { target, os } of PLATFORMS) {
      const name = `pingress-${target}${os === "windows" ? ".exe" : ""}`;
      await Deno.writeTextFile(join(folder, name), `program of ${target}`);
    }
    const args = [`--input=${folder}`, `--output=${folder}/krew`, "--version=1.2.0"];
    const { code, stderr } = await task("release:krew", args, ["-A"]);
    assert.equal(code, 0, stderr);
    const manifest = parse(Deno.readTextFileSync(join(folder, "krew/pingress.yaml")));
    assert.equal(manifest.metadata.name, "pingress");
    assert.equal(manifest.spec.version, "v1.2.0");
    assert.ok(manifest.spec.shortDescription.length <= 50);
    assert.equal(manifest.spec.platforms.length, PLATFORMS.length);
    for (const { uri, sha256, bin, files } of manifest.spec.platforms) {
      const archive = join(folder, "krew", uri.split("/").at(-1));
      assert.ok(uri.startsWith("https://github.com/pingress/pingress/releases/download/v1.2.0/"));
      const digest = await crypto.subtle.digest("SHA-256", Deno.readFileSync(archive));
      assert.equal(new Uint8Array(digest).toHex(), sha256);
      const { stdout } = await runCommand("tar", ["--list", "--verbose", `--file=${archive}`]);
      for (const { from } of files) assert.ok(stdout.includes(` ${from}\n`), stdout);
      assert.match(stdout, new RegExp(`^-rwxr-xr-x 0/0 .* ${bin}$`, "m"));
    }
  });
});

Deno.test("each command of the workflows is a task, or a script of this repository", () => {
  const workflows = ["test.yml", "release.yml"].map((name) =>
    parse(Deno.readTextFileSync(join(ROOT, ".github/workflows", name)))
  );
  const commands = workflows.flatMap(({ jobs }) =>
    Object.values(jobs as Record<string, { steps: { run?: string }[] }>)
      .flatMap(({ steps }) => steps.flatMap(({ run }) => run === undefined ? [] : [run]))
  );
  const tasks = commands.flatMap((text) => text.match(/(?<=deno task )[\w:]+/g) ?? []);
  assert.deepEqual(tasks.filter((name) => CONFIG.tasks[name] === undefined), []);
  for (
    const name of [
      "images",
      "package",
      "compile",
      "release:krew",
      "release:sbom",
      "release:sign",
      "release:notes",
    ]
  ) {
    assert.ok(tasks.includes(name), name);
  }
  assert.ok(commands.includes("bash .ci/run"));
});

Deno.test("workflows use the Deno of the images, and never give all rights", () => {
  const [, version] = Deno.readTextFileSync(join(ROOT, "Dockerfile.proxy"))
    .match(/^ARG DENO=docker\.io\/denoland\/deno:(\S+)$/m)!;
  for (const name of ["test.yml", "release.yml"]) {
    const text = Deno.readTextFileSync(join(ROOT, ".github/workflows", name));
    const workflow = parse(text);
    assert.deepEqual(workflow.permissions, { contents: "read" });
    for (const [, used] of text.matchAll(/deno-version: (\S+)/g)) assert.equal(used, version);
    assert.doesNotMatch(text, /write-all/);
  }
});

async function task(name: string, args: readonly string[], rights?: readonly string[]) {
  const [, run, ...flags] = CONFIG.tasks[name].command.split(" ");
  const given = rights === undefined
    ? flags
    : flags.map((flag: string) => flag.startsWith("-P=") ? rights[0] : flag);
  return await runCommand(Deno.execPath(), [run, ...given, ...args], { cwd: ROOT });
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
