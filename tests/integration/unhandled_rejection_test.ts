import assert from "node:assert/strict";

Deno.test("a rejection that nobody handles fails the test run", async () => {
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

/** The proxy with a stray rejection at its start; SIGTERM once it has said `line`. */
async function stray(args: readonly string[], line: string): Promise<[number, string]> {
  const root = new URL("../..", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "tests/support/stray_process.ts", "--workers=1", ...args],
    cwd: root,
    stdout: "piped",
  }).spawn();
  let said = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    const wasSaid = said.includes(line);
    said += chunk;
    if (!wasSaid && said.includes(line)) child.kill("SIGTERM");
  }
  return [(await child.status).code, said];
}

Deno.test("a rejection that nobody handles is logged, and the proxy waits on for its configuration", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const files = [`--config=${folder}/proxy.json`, `--watch=${folder}`];
    const [code, said] = await stray([...files, "--admin=127.0.0.1:0"], "Not ready");
    assert.match(said, /Unhandled rejection.*nobody handles this/);
    assert.equal(code, 0, said);
  } finally {
    await Deno.remove(folder);
  }
});

Deno.test("a start that cannot succeed ends all the same", async () => {
  const files = ["--config=/nonexistent/proxy.json", "--admin=127.0.0.1:0"];
  const [code, said] = await stray(files, "Not ready");
  assert.equal(code, 1, said);
  assert.match(said, /Cannot start/);
});
