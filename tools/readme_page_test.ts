import assert from "node:assert/strict";
import { join } from "node:path";
import { linksOf } from "./markdown.ts";

const ROOT = join(import.meta.dirname!, "..");
const README = Deno.readTextFileSync(join(ROOT, "README.md"));

Deno.test("README.md fits two screens", () => {
  assert.ok(README.length < 9_000, `${README.length} characters`);
});

Deno.test("README.md has the first commands of a newcomer", () => {
  const config = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
  for (const [task, command] of [["dev", "-c quickstart.json dev"], ["test", "test"]]) {
    assert.ok(config.tasks[task] !== undefined);
    assert.ok(README.includes(`npx -y deno@2.9 task ${command} `), task);
  }
});

Deno.test("quickstart.json has tasks of deno.json, word for word", () => {
  const read = (file: string) => JSON.parse(Deno.readTextFileSync(join(ROOT, file)));
  const { lock, tasks, ...others } = read("quickstart.json");
  const all = read("deno.json").tasks;
  for (const [name, task] of Object.entries<{ command: string }>(tasks)) {
    assert.deepEqual(task, all[name]);
    // Else it downloads all packages of the lock file.
    assert.match(task.command, /^deno run .*--unstable-npm-lazy-caching /);
  }
  // With imports or a lock file of its own, Deno downloads packages before it runs a task.
  assert.deepEqual([Object.keys(tasks), lock, others], [
    ["dev", "explain", "lint", "pingress"],
    false,
    {},
  ]);
});

/** As `deno info --json` prints it. */
interface ModuleGraph {
  readonly roots: readonly string[];
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly code?: { readonly specifier: string } }[];
  }[];
}

/** Modules that are imported for their code, now or later; the graph also has those of types. */
function loadedBy({ roots, modules }: ModuleGraph): string[] {
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  const found = new Set(roots);
  for (const specifier of found) {
    for (const { code } of bySpecifier.get(specifier)?.dependencies ?? []) {
      if (code !== undefined) found.add(code.specifier);
    }
  }
  return [...found];
}

Deno.test("deno task dev and explain need few packages: none of the controller, tests or benchmarks", async () => {
  for (const file of ["dev/main.ts", "dev/explain.ts"]) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", join(ROOT, file)],
      cwd: ROOT,
    }).output();
    const packages = loadedBy(JSON.parse(new TextDecoder().decode(stdout))).flatMap((specifier) =>
      /^npm:\/?((?:@[^/]+\/)?[^@/]+)/.exec(specifier)?.[1] ?? []
    );
    assert.ok(packages.includes("yaml"), file);
    for (const other of ["@kubernetes/client-node", "echarts", "oidc-provider", "@grpc/grpc-js"]) {
      assert.ok(!packages.includes(other), `${file} needs ${other}`);
    }
  }
});

Deno.test("docs/README.md lists each page of docs/ once, in one of four groups", () => {
  const index = Deno.readTextFileSync(join(ROOT, "docs/README.md"));
  const groups = index.split(/^## /m).slice(1);
  assert.deepEqual(
    groups.map((group) => group.split("\n")[0]),
    ["Start", "Operate", "Reference", "Understand"],
  );
  const listed = groups.flatMap((group) => linksOf(group).map(({ path }) => path)).sort();
  const pages = Array.from(Deno.readDirSync(join(ROOT, "docs")), ({ name }) => name)
    .filter((name) => name !== "README.md").sort();
  assert.deepEqual(listed, pages);
});
