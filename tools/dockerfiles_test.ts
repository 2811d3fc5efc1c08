import { deepEqual, equal, match, ok } from "node:assert/strict";
import { dirname, join } from "node:path";
import { VERSION } from "../shared/version.ts";
import {
  bundledProgram,
  compileArguments,
  type DenoConfig,
  INSTALLED_PROGRAMS,
  runFlags,
} from "./programs.ts";

const ROOT = join(import.meta.dirname!, "..");
const read = (name: string) => Deno.readTextFileSync(join(ROOT, name));
/** A registry that cannot be reached. */
const REGISTRY = "https://registry.invalid/";
const config: DenoConfig = JSON.parse(read("deno.json"));

interface Instruction {
  readonly stage: string;
  readonly name: string;
  readonly text: string;
}

/** Instructions with their continuation lines joined, each with the stage that it is in. */
function instructionsOf(dockerfile: string): Instruction[] {
  let stage = "";
  return dockerfile.replace(/\s*\\\n\s*/g, " ").split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [name] = line.split(" ", 1);
      const text = line.slice(name.length + 1).trim();
      if (name === "FROM") stage = text.split(" AS ")[1];
      return { stage, name, text };
    });
}

for (const program of INSTALLED_PROGRAMS) {
  const { name, image, entries } = program;
  const bundled = bundledProgram(program);
  const file = `Dockerfile.${name}`;
  const instructions = instructionsOf(read(file));
  const texts = (stage: string, name: string) =>
    instructions.filter((one) => one.stage === stage && one.name === name)
      .map(({ text }) => text);

  Deno.test(`${file}: the image that runs Deno does the same as the task ${name}`, () => {
    const [entrypoint] = texts("run", "ENTRYPOINT").map((text) => JSON.parse(text));
    ok(runFlags(config, program).includes(`-P=${name}`));
    deepEqual(entrypoint, [
      "/usr/bin/deno",
      "run",
      ...runFlags(config, program),
      "--cached-only",
      "--no-code-cache",
      bundled.entries[0],
    ]);
  });

  Deno.test(`${file}: the executable has the flags of deno task compile`, () => {
    const [command] = texts("compile", "RUN");
    const [, ...args] = command.slice(command.indexOf("deno compile")).split(/\s+/);
    const wanted = compileArguments(config, bundled, {
      output: `/${image}`,
      target: "$cpu-unknown-linux-gnu",
      excluded: [],
    });
    deepEqual(args, wanted);
    deepEqual(texts("compiled", "ENTRYPOINT").map((text) => JSON.parse(text)), [[`/${image}`]]);
  });

  Deno.test(`${file}: every module that is started is cached, and the program bundled`, () => {
    const [cache] = texts("sources", "RUN");
    ok(cache.endsWith(` tools/bundle/image.ts ${entries.join(" ")}`), cache);
    deepEqual(texts("bundle", "ARG"), ["NPM_CONFIG_REGISTRY"]);
    const [bundle] = texts("bundle", "RUN");
    ok(bundle.endsWith(` --app=/app --cache=/deno-dir --packages=/packages ${entries[0]}`), bundle);
  });

  Deno.test(`${file}: packages come from the cache, and no registry is contacted`, () => {
    for (const stage of ["compile", "run"]) {
      const [variables] = texts(stage, "ENV");
      ok(variables.split(" ").includes(`NPM_CONFIG_REGISTRY=${REGISTRY}`), variables);
    }
  });

  Deno.test(`${file}: both targets have the licences of the packages in the bundle`, () => {
    for (const stage of ["run", "compiled"]) {
      ok(
        texts(stage, "COPY").some((text) => text.endsWith("/licenses/THIRD_PARTY_LICENSES")),
        stage,
      );
    }
  });

  Deno.test(`${file}: labels match the sources`, () => {
    const [labels] = texts("base", "LABEL");
    const label = (key: string) =>
      labels.match(new RegExp(`org\\.opencontainers\\.image\\.${key}="([^"]*)"`))?.[1];
    deepEqual(
      [label("title"), label("version"), label("licenses")],
      [image, VERSION, config.license],
    );
    match(label("source") ?? "", /^https:\/\//);
  });

  Deno.test(`${file}: the shipped stage runs no command, and its user is 65532`, () => {
    for (const stage of ["base", "run", "compiled"]) deepEqual(texts(stage, "RUN"), []);
    deepEqual(texts("base", "USER"), ["65532:65532"]);
    equal(instructions.at(-1)?.stage, "compiled");
    match(read(file), /^ARG RUNTIME=gcr\.io\/distroless\/cc-debian12:nonroot$/m);
  });

  Deno.test(`${file}: its Deno version is that of the README and CI`, () => {
    const [, version] = read(file).match(/^ARG DENO=docker\.io\/denoland\/deno:(\S+)$/m)!;
    const [, line] = read("README.md").match(/npx -y deno@(\S+) task/)!;
    ok(version.startsWith(`${line}.`), `${version} is not of ${line}`);
    match(read(".ci/run"), new RegExp(`deno@${line}\\b`));
  });

  Deno.test(`${file}: .dockerignore includes the files that it copies`, () => {
    const passed = read(".dockerignore").split("\n").filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const copied = instructions.filter((one) => one.name === "COPY" && !/--from/.test(one.text))
      .flatMap(({ text }) => text.split(" ").slice(0, -1));
    deepEqual(copied.filter((path) => !passed.includes(path)), []);
  });

  Deno.test(`every worker of the ${name} is among its entry points`, () => {
    // The controller's image has the command check besides.
    const folders = name === "controller" ? [name, "cli/check", "cli/cluster"] : [name];
    const started = folders.flatMap(sources).flatMap((path) =>
      Array.from(
        read(path).matchAll(/new URL\("\.\/([\w/]+\.ts)", import\.meta\.url\)/g),
        ([, worker]) => join(dirname(path), worker),
      )
    );
    ok(started.length > 0);
    deepEqual([...new Set(started)].sort(), entries.slice(1).sort());
  });
}

/** Files below a folder, tests aside, relative to the repository. */
function sources(folder: string): string[] {
  return Array.from(Deno.readDirSync(join(ROOT, folder))).flatMap(({ name, isDirectory }) =>
    isDirectory
      ? sources(`${folder}/${name}`)
      : /^\w+\.ts$/.test(name) && !name.endsWith("_test.ts")
      ? [`${folder}/${name}`]
      : []
  );
}

Deno.test("the package that deno compile excludes exists", () => {
  const [, name] = read("tools/compile.ts").match(/UNCOMPILABLE = \{ package: "([^"]+)"/)!;
  ok(Object.keys(JSON.parse(read("deno.lock")).npm).some((key) => key.startsWith(`${name}@`)));
});
