import assert from "node:assert/strict";

const MODULE = new URL("./io_turns.ts", import.meta.url).pathname;
const VARIABLE = "DENO_TOKIO_MAX_IO_EVENTS_PER_TICK";
const FLAG = `--allow-env=${VARIABLE}`;

/** What `limitIoEvents` returns in a process with this flag and variable, and the variable after it. */
async function limited(flag: string | null, value: string | null) {
  const folder = await Deno.makeTempDir();
  try {
    const script = `${folder}/main.ts`;
    await Deno.writeTextFile(
      script,
      `import { limitIoEvents } from ${JSON.stringify(MODULE)};
       const missing = limitIoEvents(Deno.env);
       const set = missing === null ? Deno.env.get("${VARIABLE}") : null;
       console.log(JSON.stringify({ missing, set }));`,
    );
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "--no-prompt", "--no-check", ...(flag === null ? [] : [flag]), script],
      env: value === null ? {} : { [VARIABLE]: value },
    }).output();
    assert.equal(new TextDecoder().decode(stderr), "");
    return JSON.parse(new TextDecoder().decode(stdout));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("I/O events of a turn are limited, unless the environment has a limit or the right is missing", async () => {
  assert.deepEqual(await limited(FLAG, null), { missing: null, set: "64" });
  assert.deepEqual(await limited(FLAG, "100"), { missing: null, set: "100" });
  assert.deepEqual(await limited(null, null), { missing: FLAG, set: null });
});
