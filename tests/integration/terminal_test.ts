/** The logs of controller and proxy at a terminal, and for programs. */
import assert from "node:assert/strict";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");

/** What a task prints at a terminal, which `script` is for it; null where that is not installed. */
async function atTerminal(command: string): Promise<string | null> {
  try {
    const { stdout } = await new Deno.Command("script", {
      args: ["--quiet", "--return", "--command", command, "/dev/null"],
      cwd: ROOT,
      stdin: "null",
    }).output();
    return new TextDecoder().decode(stdout).replaceAll("\r\n", "\n");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log(
      "skipped: logs at a terminal: script is not installed (remedy: apt-get install bsdutils)",
    );
    return null;
  }
}

async function piped(command: string): Promise<string> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", command], cwd: ROOT }).output();
  return new TextDecoder().decode(stdout);
}

for (
  const { command, mistake } of [
    { command: "proxy --config /none.json", mistake: "does not exist" },
    { command: "controller --backend HostPort --kubeconfig /none.yaml", mistake: "cannot be read" },
  ]
) {
  Deno.test(`deno task ${command}: a mistake is text at a terminal, once, and JSON elsewhere`, async () => {
    const line = `${Deno.execPath()} task -q ${command}`;
    const shown = await atTerminal(line);
    if (shown !== null) {
      assert.equal(shown.split(mistake).length, 2, shown);
      for (const each of shown.trim().split("\n")) {
        assert.match(each, /^\d{4}-\d\d-\d\dT[\d:.]+Z (?:INFO |WARN |ERROR) /);
      }
    }
    for (const each of (await piped(line)).trim().split("\n")) JSON.parse(each);
  });
}
