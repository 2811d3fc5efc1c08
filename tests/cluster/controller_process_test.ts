import assert from "node:assert/strict";
import { ControllerProcess } from "./support/controller_process.ts";

Deno.test("a controller process reports its exit code and log", async () => {
  await using helpful = await ControllerProcess.spawn({ args: ["--help"] });
  assert.equal(await helpful.ended, 0);
  await helpful.kill();
  assert.match(helpful.noise.join("\n"), /--kubeconfig/);
  await using refused = await ControllerProcess.spawn({ args: ["--no-such-flag"] });
  assert.equal(await refused.ended, 2);
});

Deno.test("a controller process that exits before it is ready reports why", async () => {
  await assert.rejects(
    ControllerProcess.start({ args: ["--no-such-flag"] }),
    /No ready controller; it said:\n[^]*no-such-flag/,
  );
});
