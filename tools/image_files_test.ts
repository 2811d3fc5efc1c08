import { deepEqual, equal } from "node:assert/strict";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import {
  contentOf,
  type ModuleGraph,
  narrowConfig,
  narrowLock,
  type NpmPackage,
} from "./image_files.ts";

const pack = (name: string, version: string, ...dependencies: string[]): NpmPackage => ({
  name,
  version,
  dependencies,
  localPath: `/cache/${name}/${version}`,
});

const npmPackages = {
  "a@1.0.0": pack("a", "1.0.0", "b@2.0.0"),
  "b@2.0.0": pack("b", "2.0.0", "a@1.0.0"),
  "@scope/c@3.0.0": pack("@scope/c", "3.0.0"),
};

const graph = (...modules: ModuleGraph["modules"]): ModuleGraph => ({ modules, npmPackages });

Deno.test("an image has the modules and packages that its programs import, and no others", () => {
  const content = contentOf([
    graph({ specifier: "file:///src/proxy/main.ts" }, { specifier: "node:path" }),
    graph(
      { specifier: "file:///src/proxy/main.ts" },
      { specifier: "file:///src/a%20b.ts" },
      { specifier: "npm:/a@1.0.0", npmPackage: "a@1.0.0" },
    ),
  ]);
  deepEqual(content.files, ["/src/a b.ts", "/src/proxy/main.ts"]);
  deepEqual([...content.imported], ["a"]);
  deepEqual([...content.packages.keys()], ["a@1.0.0", "b@2.0.0"]);
});

Deno.test("an image's configuration and lock file name nothing else", () => {
  const { imported, packages } = contentOf([
    graph({ specifier: "npm:/@scope/c@3.0.0", npmPackage: "@scope/c@3.0.0" }),
  ]);
  const config = narrowConfig({
    imports: { a: "npm:a@1.0.0", "@scope/c": "npm:@scope/c@3.0.0" },
    unstable: ["net"],
  }, imported);
  deepEqual(config, { imports: { "@scope/c": "npm:@scope/c@3.0.0" }, unstable: ["net"] });
  const lock = narrowLock(
    {
      version: "5",
      specifiers: { "npm:a@1.0.0": "1.0.0", "npm:@scope/c@3.0.0": "3.0.0" },
      npm: { "a@1.0.0": {}, "b@2.0.0": {}, "@scope/c@3.0.0": { integrity: "sha512-c" } },
      workspace: { dependencies: ["npm:@scope/c@3.0.0", "npm:a@1.0.0"] },
    },
    config.imports,
    packages,
  );
  deepEqual(lock, {
    version: "5",
    specifiers: { "npm:@scope/c@3.0.0": "3.0.0" },
    npm: { "@scope/c@3.0.0": { integrity: "sha512-c" } },
    workspace: { dependencies: ["npm:@scope/c@3.0.0"] },
  });
});

/** A registry that cannot be reached. */
const OFFLINE = { NPM_CONFIG_REGISTRY: "https://registry.invalid/" };

Deno.test("an image is built offline from packages, without registry metadata", async () => {
  const run = async (args: string[], cwd: string, env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args,
      cwd,
      env: { ...env, NO_COLOR: "1" },
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    equal(code, 0, text(stderr));
    return text(stdout);
  };
  const root = join(import.meta.dirname!, "..");
  const folder = await Deno.makeTempDir();
  try {
    const [app, image, cache] = ["app", "image", "cache"].map((name) => join(folder, name));
    for (const made of [app, image]) Deno.mkdirSync(made);
    const entries = ["proxy/main.ts", "proxy/process/supervisor.ts", "proxy/process/worker.ts"];
    const graph: ModuleGraph = JSON.parse(await run(["info", "--json", entries[2]], root));
    for (const { name, version, localPath } of Object.values(graph.npmPackages)) {
      // Packages for other platforms are listed, and not there.
      if (!existsSync(localPath)) continue;
      const target = join(cache, "npm", "registry.invalid", name, version);
      cpSync(localPath, target, { recursive: true });
    }
    const write = ["run", "-A", "tools/image_files.ts", app, image, ...entries];
    await run(write, root, { ...OFFLINE, DENO_DIR: cache });
    const help = await run(
      ["run", "-q", "-A", "--cached-only", "--no-code-cache", entries[0], "--help"],
      app,
      { ...OFFLINE, DENO_DIR: image },
    );
    equal(help.startsWith("The Pingress reverse proxy"), true);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an error of deno compile has a remedy if one is known", async () => {
  const { compileRemedy } = await import("./compile.ts");
  const complaint = "0: Setting up base binary.\n1: error sending request for url " +
    "(https://dl.deno.land/release/v2.9.6/denort-x86_64-unknown-linux-gnu.zip)";
  equal(compileRemedy(complaint, "2.9.6").includes("deno task images --target run"), true);
  equal(compileRemedy("error: Module not found", "2.9.6"), "");
});
