/** A proxy of one event loop that hangs: the first thread ends the process. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** When the proxy is killed, in ms. */
const PATIENCE = 60_000;

/** Longer than the thread that serves may be silent in `stuck_process.ts`. */
const QUIET = 4_000;

Deno.test("with --workers 1 the process exits with 1 when its serving thread hangs, and not before", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(
      join(folder, "proxy.json"),
      serialiseSnapshot(snapshotOf([]), { revealKeys: true }),
    );
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", "tests/support/stuck_process.ts", "--workers=1"],
        ...[`--config=${folder}/proxy.json`, "--admin=127.0.0.1:0", "--drain-delay=0"],
        ...["--listen-http=127.0.0.1:0", "--listen-https=127.0.0.1:0"],
      ],
      cwd: ROOT,
      stdout: "piped",
    }).spawn();
    const impatience = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
    let said = "";
    let saidBefore: string | null = null;
    let hanging: ReturnType<typeof setTimeout> | undefined;
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      said += chunk;
      if (!said.includes('"Ready"')) continue;
      // It answers pings for a while; the order to stop is what makes it hang.
      hanging ??= setTimeout(() => {
        saidBefore = said;
        child.kill("SIGTERM");
      }, QUIET);
    }
    clearTimeout(impatience);
    clearTimeout(hanging);
    assert.doesNotMatch(saidBefore!, /Cannot continue/);
    assert.match(
      said,
      /"Cannot continue","reason":"the thread that serves has been silent for 3000 ms"/,
    );
    assert.equal((await child.status).code, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
