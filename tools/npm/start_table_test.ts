import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../cli/commands.ts";
import { packageConfig, startTable } from "./start_table.ts";

const ROOT = join(import.meta.dirname!, "../..");
const CONFIG = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));

Deno.test("each command starts with its own permission set, and the flags of its task", () => {
  const { flags } = startTable(CONFIG, COMMANDS);
  for (const { name, permissions } of COMMANDS) {
    assert.deepEqual(flags[name].filter((flag) => flag.startsWith("-P")), [`-P=${permissions}`]);
    const own: string = CONFIG.tasks[name]?.command ?? "";
    const task: string = own.includes(` -P=${permissions} `) ? own : CONFIG.tasks.pingress.command;
    const wanted: string[] = task.split(" ").filter((flag) =>
      /^--(?:v8-flags|no-prompt)/.test(flag)
    );
    for (const flag of wanted) assert.ok(flags[name].includes(flag), `${name}: ${flag}`);
    assert.ok(flags[name].every((flag) => flag.startsWith("-")), name);
  }
  assert.ok(flags[""].includes("-P=offline"));
});

Deno.test("a command whose name is that of another task starts as the program does", () => {
  const config = { ...CONFIG, tasks: { ...CONFIG.tasks, codes: { command: "deno fmt --check" } } };
  assert.deepEqual(startTable(config, COMMANDS), startTable(CONFIG, COMMANDS));
});

Deno.test("permission sets of the package are those of deno.json, and give nobody all rights", () => {
  const { permissions } = packageConfig(CONFIG, COMMANDS);
  for (const [name, set] of Object.entries(permissions)) {
    assert.deepEqual(set, CONFIG.permissions[name]);
    const { all, run, write } = set as Record<string, unknown>;
    assert.deepEqual([all, write], [undefined, undefined], name);
    assert.notEqual(run, true, name);
  }
  assert.deepEqual(Object.keys(permissions.offline as object), ["env"]);
});
