/** What commands look like at a terminal of 40, 80 and 120 columns: colours, wrapping, progress, a closed pipe. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { VERSION } from "../../shared/version.ts";
import { taskArguments, withFolder } from "../support/dev_process.ts";
import { Tmux } from "../support/tmux.ts";
import { assertScreen } from "../support/tmux_golden.ts";

const FOLDER = "tests/golden/terminal/manifests";
const WIDTHS = [40, 80, 120] as const;

/** Of five digits, also where the terminal breaks a line in them. */
const PORT = (screen: string) =>
  screen.replace(/:(?:\n?\d){5}(?!\d)/g, (port) => port.replace(/\d/g, "P"));

const SPINNER = (screen: string) => screen.replace(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/, "⠋");
const FREE = ["--listen-http=127.0.0.1:0", "--listen-https=127.0.0.1:0", "--admin=127.0.0.1:0"];

function pingress(...args: readonly string[]): readonly string[] {
  return [Deno.execPath(), ...taskArguments("pingress"), ...args];
}

/** Once it has ended. */
async function assertShown(
  name: string,
  command: readonly string[],
  columns: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  await using terminal = await Tmux.start(command, { columns, rows: 200, environment });
  if (terminal === null) return;
  const shown = await terminal.until((screen) => /\[exit \d+\]$/.test(screen));
  assertScreen(name, shown.replaceAll(VERSION, "V".repeat(VERSION.length)));
}

for (const columns of WIDTHS) {
  Deno.test(`a terminal of ${columns} columns: lint, explain, diff and help`, async () => {
    for (
      const [name, args] of [
        ["lint", ["lint", FOLDER]],
        ["explain", ["explain", "-f", FOLDER, "https://app.example.com/api/x"]],
        ["diff", ["diff", "-f", FOLDER, "--against", "examples"]],
        ["help", ["--help"]],
        ["codes", ["codes", "ServiceNotFound"]],
      ] as const
    ) await assertShown(`${name}-${columns}`, pingress(...args), columns);
  });

  Deno.test(`a terminal of ${columns} columns: dev, and Ctrl-C`, async () => {
    const command = [Deno.execPath(), ...taskArguments("dev"), FOLDER, ...FREE];
    await using terminal = await Tmux.start(command, { columns, rows: 200 });
    if (terminal === null) return;
    const shown = await terminal.until((screen) => /\nWatching\s[^]*changes\.$/.test(screen));
    assertScreen(`dev-${columns}`, PORT(shown));
    await terminal.key("C-c");
    await terminal.until((screen) => /Stopped\.\n\[exit 0\]$/.test(screen));
    assert.ok(await terminal.hasCursor());
  });

  Deno.test(`a terminal of ${columns} columns: progress of what takes over a second, and Ctrl-C`, async () => {
    using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    await withFolder({}, async (folder) => {
      const kubeconfig = join(folder, "kubeconfig");
      await Deno.writeTextFile(kubeconfig, kubeconfigText(silent.addr.port));
      const command = pingress("check", `--kubeconfig=${kubeconfig}`);
      await using terminal = await Tmux.start(command, { columns, rows: 10 });
      if (terminal === null) return;
      const shown = await terminal.until((screen) => /Connecting to/.test(screen));
      // A narrow terminal has no room for all of the port.
      const hidden = PORT(shown).replace(/:\d+$/, (cut) => cut.replace(/\d/g, "P"));
      assertScreen(`progress-${columns}`, SPINNER(hidden));
      await terminal.key("C-c");
      // The terminal breaks the line anywhere.
      const joined = (screen: string) => screen.replace(/\s/g, "");
      const ended = await terminal.until((screen) => joined(screen).endsWith("[exit130]"));
      // A frame may be drawn over what the terminal echoes of Ctrl-C.
      assert.match(joined(ended), /^.Connectingto[^^]+(?:\^C)?\[exit130\]$/);
      assert.ok(await terminal.hasCursor());
    });
  });
}

Deno.test("a terminal whose user wants no colours gets none", async () => {
  for (const forced of ["", "1"]) {
    const environment = { NO_COLOR: "1", FORCE_COLOR: forced };
    await assertShown("lint-plain", pingress("lint", FOLDER), 80, environment);
  }
});

Deno.test("a terminal behind a pipe that is closed shows the first lines, and no error", async () => {
  const command = pingress("codes").map((word) => `'${word}'`).join(" ");
  // Its exit code is 141, or 0 where the pipe takes all of it before head ends.
  await assertShown("closed-pipe", ["bash", "-c", `${command} | head -2; exit 0`], 80);
});

function kubeconfigText(port: number): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: "a",
      cluster: { server: `https://127.0.0.1:${port}`, "insecure-skip-tls-verify": true },
    }],
    users: [{ name: "a", user: { token: "t" } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  });
}
