import assert from "node:assert/strict";
import { join } from "node:path";
import type { ControllerOptions } from "../../cli/options.ts";
import { readWorkload } from "./from_options.ts";

for (
  const [slip, line, said] of [
    ["an excerpt of a bad line", ' password: "hunter2', /line 2, column 12: the quoted text/],
    ["an alias that was meant as a value", " password: *hunter2", /line 2, column 12: what begins/],
  ] as const
) {
  Deno.test(`a pod template that does not parse is refused without ${slip}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const file = join(folder, "pod.yaml");
      await Deno.writeTextFile(file, `spec:\n${line}\n`);
      const reading = await readWorkload({ proxyPodTemplate: file } as ControllerOptions);
      const message = reading.ok ? "" : reading.message;
      assert.match(message, said);
      assert.ok(!message.includes("hunter2"), message);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
