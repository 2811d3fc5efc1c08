import assert from "node:assert/strict";
import { memoryInUse, Overload, type Pressure } from "./overload.ts";
import { silentLogger } from "../../shared/log.ts";

Deno.test("pressure rises at 92 and 95 percent, and falls at lower values", () => {
  let used = 0;
  let relieved = 0;
  const lines: unknown[] = [];
  const note = (_message: string, fields?: Record<string, unknown>) => void lines.push(fields);
  const overload = new Overload({
    limit: 1000,
    usage: () => used,
    relieve: () => relieved++,
    log: { ...silentLogger, info: note, warn: note },
  });
  const course: [used: number, pressure: Pressure][] = [
    [0, "none"],
    [919, "none"],
    [920, "high"],
    [949, "high"],
    [950, "critical"],
    [920, "critical"],
    [910, "critical"],
    [909, "high"],
    [880, "high"],
    [879, "none"],
    [1200, "critical"],
    [100, "none"],
  ];
  let pressed = 0;
  for (const [bytes, pressure] of course) {
    used = bytes;
    overload.look();
    assert.equal(overload.pressure, pressure, `at ${bytes}`);
    assert.equal(overload.isHigh, pressure !== "none");
    assert.equal(overload.isCritical, pressure === "critical");
    if (pressure !== "none") pressed++;
  }
  assert.equal(relieved, pressed);
  assert.equal(lines.length, 6, "each change is told once");
  assert.deepEqual(lines[0], { pressure: "high", before: "none", used: 920, limit: 1000 });
});

Deno.test("the process's usage is readable without any permission", async () => {
  assert.ok(memoryInUse() > 10 * 1024 * 1024);
  const file = new URL("./overload.ts", import.meta.url).href;
  const code = `import { memoryInUse } from "${file}"; self.postMessage(memoryInUse())`;
  const worker = new Worker(`data:application/javascript,${encodeURIComponent(code)}`, {
    type: "module",
    deno: { permissions: { read: [new URL(".", import.meta.url)] } },
  });
  const used = await new Promise<unknown>((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
  });
  worker.terminate();
  assert.ok(typeof used === "number" && used > 10 * 1024 * 1024);
});
