/** The program of the controller's image, with the permissions that it has there. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type DenoConfig, INSTALLED_PROGRAMS, runFlags } from "../../tools/programs.ts";

const ROOT = join(import.meta.dirname!, "../..");
const CONFIG: DenoConfig = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
const [CONTROLLER] = INSTALLED_PROGRAMS.filter(({ name }) => name === "controller");

async function run(...args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...runFlags(CONFIG, CONTROLLER), CONTROLLER.entries[0], ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" },
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out, err };
}

Deno.test("the controller's image runs the controller", async () => {
  const help = await run("--help");
  assert.deepEqual([help.code, help.err], [0, ""]);
  assert.match(help.out, /^The Pingress controller: /);
  const mistake = await run("--backend=NodePort");
  assert.equal(mistake.code, 2);
  assert.match(mistake.err, /--backend got "NodePort"; it takes one of HostPort, LoadBalancer/);
});

Deno.test("the controller's image runs pingress check with the account of its pod", async () => {
  const help = await run("check", "--help");
  assert.deepEqual([help.code, help.err], [0, ""]);
  assert.match(help.out, /^Checks an installation in a cluster/);
  const { code, out } = await run("check", "--timeout=1s");
  assert.equal(code, 1);
  // There is no pod here, so its files are missing.
  assert.match(out, /^✘ The API server at https:\/\/127\.0\.0\.1:1 .+\/serviceaccount\/ca\.crt/m);
});
