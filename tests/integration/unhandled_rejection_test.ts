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
