import assert from "node:assert/strict";
import { Output, type Stream } from "./output.ts";

const MODULE = new URL("./output.ts", import.meta.url).href;

/** Takes up to `room` bytes a write, and nothing every other time. */
class FullPipe implements Stream {
  readonly taken: number[] = [];
  #isFull = false;

  writeSync(bytes: Uint8Array): number {
    this.#isFull = !this.#isFull;
    if (this.#isFull) throw new Deno.errors.WouldBlock();
    this.taken.push(...bytes.subarray(0, 1000));
    return Math.min(bytes.length, 1000);
  }

  isTerminal(): boolean {
    return false;
  }
}

Deno.test("a pipe that is full every other time gets every byte once", () => {
  const stream = new FullPipe();
  const text = Array.from({ length: 3000 }, (_, i) => `line ${i} ✔`).join("\n");
  new Output({ stream, isLineBuffered: false, exit: () => assert.fail() }).write(text);
  assert.equal(new TextDecoder().decode(Uint8Array.from(stream.taken)), text);
});

Deno.test("a full disk is one line and exit code 2", () => {
  const stream: Stream = {
    isTerminal: () => false,
    writeSync() {
      throw new Error("No space left on device (os error 28)");
    },
  };
  const said: string[] = [];
  const exit = (code: number) => {
    throw new Error(`exit ${code}`);
  };
  const complain = (text: string) => void said.push(text);
  const output = new Output({ stream, isLineBuffered: true, exit, complain });
  assert.throws(() => output.write("text"), /^Error: exit 2$/);
  assert.deepEqual(said, ["Cannot write the output: No space left on device (os error 28)"]);
});

/** Texts whose parts differ in how Deno buffers them: whole lines, long ones, and ends without a line break. */
const TEXTS: Readonly<Record<string, string>> = {
  "short lines": "Array.from({ length: 40000 }, (_, i) => `line ${i}`).join('\\n') + '\\n'",
  "one long line": "'0123456789'.repeat(50000)",
  "an end without a line break": "'x'.repeat(70000) + '\\n' + 'y'.repeat(500)",
  "characters of several bytes": "'✔ä'.repeat(60000)",
};

/** Reads slowly what a program writes to a pipe that does not block, and prints it. */
const SLOW_READER = `
import os, subprocess, sys, time
read, write = os.pipe()
os.set_blocking(write, False)
child = subprocess.Popen(sys.argv[1:], stdout=write)
os.close(write)
while True:
    part = os.read(read, 30000)
    if not part: break
    sys.stdout.buffer.write(part)
    time.sleep(0.005)
sys.exit(child.wait())
`;

for (const [what, expression] of Object.entries(TEXTS)) {
  Deno.test(`a pipe that does not block loses nothing of ${what}, also in parts`, async () => {
    const code = `import { Output } from ${JSON.stringify(MODULE)};
      const output = new Output({ stream: Deno.stdout, isLineBuffered: true, exit: Deno.exit });
      const text = ${expression};
      output.write(text);
      for (let i = 0; i < 20000; i++) output.write("part " + i + "; ");`;
    const reader = new Deno.Command("python3", {
      args: ["-c", SLOW_READER, Deno.execPath(), "eval", "--no-check", "--ext=ts", code],
      stderr: "inherit",
    });
    let answer: Deno.CommandOutput;
    try {
      answer = await reader.output();
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      console.log("skipped: python3, which makes a pipe that does not block, is not installed");
      return;
    }
    assert.equal(answer.code, 0);
    const text: string = (0, eval)(expression);
    const parts = Array.from({ length: 20000 }, (_, i) => `part ${i}; `).join("");
    assert.ok(new TextDecoder().decode(answer.stdout) === text + parts);
  });
}

Deno.test("a closed pipe ends the program, its threads and its ports", async () => {
  const code = `import { Output } from ${JSON.stringify(MODULE)};
    const output = new Output({ stream: Deno.stdout, isLineBuffered: true, exit: Deno.exit });
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    new Worker(URL.createObjectURL(new Blob(["setInterval(() => {}, 1000)"])), { type: "module" });
    output.write(listener.addr.port + "\\n");
    setInterval(() => output.write("more\\n"), 5);`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", "--ext=ts", code],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const port = Number(new TextDecoder().decode(value).split("\n")[0]);
  await reader.cancel();
  assert.equal((await child.status).code, 141);
  Deno.listen({ hostname: "127.0.0.1", port }).close();
});
