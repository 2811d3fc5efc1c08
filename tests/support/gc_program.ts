/** Programs that measure memory. In: the name of one in this folder. Out: the JSON that it prints. */
import assert from "node:assert/strict";
import { join } from "node:path";

/** Runs it in a process of its own, in which `gc` collects garbage. */
export async function runWithGc<T>(program: string): Promise<T> {
  const path = join(import.meta.dirname!, program);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", "--quiet", "--v8-flags=--expose-gc", path],
  }).output();
  const text = new TextDecoder();
  assert.equal(code, 0, text.decode(stderr));
  return JSON.parse(text.decode(stdout));
}
