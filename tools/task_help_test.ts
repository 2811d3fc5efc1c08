/** What each task of deno.json does with `--help`: a newcomer's first look must not start anything. */
import { equal, match } from "node:assert/strict";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..");
const { tasks } = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));

for (const [name, { command }] of Object.entries<{ command: string }>(tasks)) {
  Deno.test(`deno task ${name} --help prints help, and does nothing else`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "-q", name, "--help"],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stdout);
    equal(code, 0, new TextDecoder().decode(stderr));
    // Tests are run by Deno, which has a help of its own.
    const isTest = command.startsWith("deno test") || command.endsWith("tools/test_run/main.ts");
    if (isTest) match(text, /\nUsage: deno test /);
    else if (name === "pingress") {
      match(
        text,
        /^pingress [^\n]+\n\nUsage: pingress COMMAND [^]* lists the flags of a command\.\n$/,
      );
    } else {
      const whole =
        `^(?:[^\\n]+\\n)+\\nUsage: deno task ${name}[ \\n][^]* {2}--help, -h\\n {6}Prints this help\\.\\n$`;
      match(text, new RegExp(whole));
    }
  });
}

Deno.test("the README's command for a fresh machine starts deno task dev", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "-q", "-c", "quickstart.json", "dev", "--help"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  equal(code, 0, new TextDecoder().decode(stderr));
  match(new TextDecoder().decode(stdout), /\n\nUsage: deno task dev /);
});
