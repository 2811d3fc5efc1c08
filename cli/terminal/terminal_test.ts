import assert from "node:assert/strict";
import { until } from "../../tests/support/backend.ts";
import { capturedTerminal } from "../../tests/support/captured_terminal.ts";

Deno.test("text goes to standard output as it is, errors to standard error with a line break", () => {
  const { terminal, stdout, stderr } = capturedTerminal();
  terminal.write("a\nb");
  terminal.error("wrong");
  assert.equal(stdout(), "a\nb");
  assert.equal(stderr(), "wrong\n");
});

Deno.test("JSON has its version first, and ends with a line break", () => {
  const { terminal, stdout } = capturedTerminal();
  terminal.json({ version: "1.2.3" });
  assert.equal(stdout(), '{\n  "v": 1,\n  "version": "1.2.3"\n}\n');
});

Deno.test("a pipe has no width, so that nothing is wrapped or cut there", () => {
  assert.equal(capturedTerminal({ columns: 40 }).terminal.columns, Infinity);
});

Deno.test("a terminal has its width, and 80 columns if it does not know", () => {
  assert.equal(capturedTerminal({ isTerminal: true, columns: 40 }).terminal.columns, 40);
  assert.equal(capturedTerminal({ isTerminal: true, columns: 0 }).terminal.columns, 80);
});

Deno.test("a step that ends within a second shows no progress", () => {
  const { terminal, stderr } = capturedTerminal({ isTerminal: true });
  const progress = terminal.progress("Reading");
  progress.step("Translating");
  progress.end();
  assert.equal(stderr(), "");
});

Deno.test("after a second, progress is one line a step where there is no terminal", async () => {
  const { terminal, stdout, stderr } = capturedTerminal();
  const progress = terminal.progress("Reading");
  await until("progress is shown", () => stderr() !== "");
  progress.step("Translating");
  progress.step("Translating");
  progress.end();
  assert.equal(stderr(), "Reading\nTranslating\n");
  assert.equal(stdout(), "");
});

Deno.test("TERM=dumb gets lines of progress, and no escapes", async () => {
  const { terminal, stderr } = capturedTerminal({
    isTerminal: true,
    environment: { TERM: "dumb" },
  });
  const progress = terminal.progress("Reading");
  await until("progress is shown", () => stderr() !== "");
  progress.end();
  assert.equal(stderr(), "Reading\n");
});

Deno.test("on a terminal, progress is one line that fits, makes room for text, and goes away", async () => {
  const { terminal, stdout, stderr } = capturedTerminal({ isTerminal: true, columns: 20 });
  const progress = terminal.progress("Reading the objects of the cluster");
  await until("progress is shown", () => stderr() !== "");
  const [, shown] = stderr().split("\r\x1b[2K");
  assert.match(shown, /^\S Reading the obj$/);
  const before = stderr().length;
  terminal.write("result\n");
  assert.equal(stderr().slice(before), "\r\x1b[2K");
  progress.end();
  assert.ok(stderr().endsWith("\r\x1b[2K"));
  assert.ok(!stderr().includes("\n"));
  assert.equal(stdout(), "result\n");
});

Deno.test("a second progress takes the place of the first", async () => {
  const { terminal, stderr } = capturedTerminal();
  terminal.progress("Reading");
  const second = terminal.progress("Comparing");
  await until("progress is shown", () => stderr() !== "");
  second.end();
  assert.equal(stderr(), "Comparing\n");
});
