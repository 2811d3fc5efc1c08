import assert from "node:assert/strict";

Deno.test("an unhandled rejection fails the test run", async () => {
  const file = await Deno.makeTempFile({ suffix: "_test.ts" });
  await Deno.writeTextFile(
    file,
    `Deno.test("passes by itself", async () => {
       Promise.reject(new Error("nobody handles this"));
       await new Promise((resolve) => setTimeout(resolve, 0));
     });`,
  );
  try {
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--no-check", file],
      // As every test of the repository runs: with its deno.json.
      cwd: new URL("../..", import.meta.url).pathname,
      env: { NO_COLOR: "1" },
    }).output();
    assert.ok(!success);
    assert.match(new TextDecoder().decode(stdout), /nobody handles this/);
  } finally {
    await Deno.remove(file);
  }
});

/** Milliseconds after which a proxy that has not said all it was to say is killed. */
const PATIENCE = 30_000;

/**
 * The proxy with a stray rejection at its start; SIGTERM once it has said all `lines`. Deno tells of a
 * rejection in a later turn, so that the last line by itself does not mean that it was told.
 */
async function stray(args: readonly string[], lines: string[]): Promise<[number, string]> {
  const root = new URL("../..", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "tests/support/stray_process.ts", "--workers=1", ...args],
    cwd: root,
    stdout: "piped",
  }).spawn();
  const impatience = setTimeout(() => child.kill("SIGKILL"), PATIENCE);
  let said = "";
  const isAllSaid = () => lines.every((line) => said.includes(line));
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    const wasSaid = isAllSaid();
    said += chunk;
    if (!wasSaid && isAllSaid()) child.kill("SIGTERM");
  }
  clearTimeout(impatience);
  return [(await child.status).code, said];
}

Deno.test("an unhandled rejection is logged, and the proxy keeps waiting for its configuration", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const files = [`--config=${folder}/proxy.json`, `--watch=${folder}`];
    const [code, said] = await stray([...files, "--admin=127.0.0.1:0"], [
      "Unhandled rejection",
      "Not ready",
    ]);
    assert.match(said, /Unhandled rejection.*nobody handles this/);
    assert.equal(code, 0, said);
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("a start that cannot succeed still exits", async () => {
  const files = ["--config=/nonexistent/proxy.json", "--admin=127.0.0.1:0"];
  const [code, said] = await stray(files, ["Not ready"]);
  assert.equal(code, 1, said);
  assert.match(said, /it does not exist/);
});
