import { deepEqual, equal } from "node:assert/strict";
import {
  contentOf,
  type ModuleGraph,
  narrowConfig,
  narrowLock,
  type NpmPackage,
} from "./packages.ts";

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

Deno.test("an error of deno compile has a remedy if one is known", async () => {
  const { compileRemedy } = await import("../compile.ts");
  const complaint = "0: Setting up base binary.\n1: error sending request for url " +
    "(https://dl.deno.land/release/v2.9.6/denort-x86_64-unknown-linux-gnu.zip)";
  equal(compileRemedy(complaint, "2.9.6").includes("deno task images --target run"), true);
  equal(compileRemedy("error: Module not found", "2.9.6"), "");
});
