import assert from "node:assert/strict";
import { createLogger, LineOutput, type LogFields, type LogFormat } from "./log.ts";
import { Redacted } from "./redacted.ts";

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

function logged(format: LogFormat, message: string, fields?: LogFields): string {
  let out = "";
  const write = (line: string) => out += line;
  createLogger({ level: "debug", format, write, now: () => 0 }).info(message, fields);
  return out;
}

Deno.test("an event is one line of JSON", () => {
  assert.equal(
    logged("json", "listening", { address: "127.0.0.1:80", routes: 3, tls: false }),
    '{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"listening",' +
      '"address":"127.0.0.1:80","routes":3,"tls":false}\n',
  );
});

Deno.test("an event is one line of text", () => {
  assert.equal(
    logged("text", "listening", { address: "127.0.0.1:80", why: "he said so" }),
    '1970-01-01T00:00:00.000Z INFO  listening address=127.0.0.1:80 why="he said so"\n',
  );
});

Deno.test("levels below the lowest are not written", () => {
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "json", write: (line) => lines.push(line) });
  logger.debug("a");
  logger.info("b");
  logger.warn("c");
  logger.error("d");
  assert.deepEqual(lines.map((line) => JSON.parse(line).message), ["c", "d"]);
});

Deno.test("no value starts a new line, colours a terminal or reverses text", () => {
  const nasty = "a\nb\r\x1b[31mc\x00\x7f\x85\x9b\u061c\u2028\u2029\u202e\u2066";
  for (const format of ["json", "text"] as const) {
    const line = logged(format, nasty, { [nasty]: nasty, list: [nasty], map: { [nasty]: nasty } });
    assert.doesNotMatch(line.slice(0, -1), UNPRINTABLE, format);
    assert.ok(line.endsWith("\n"));
  }
  assert.equal(JSON.parse(logged("json", "x", { nasty })).nasty, nasty);
});

Deno.test("a value cannot imitate another field", () => {
  const line = logged("text", "x", { path: 'a" status=200 b="' });
  assert.ok(line.includes(String.raw`path="a\" status=200 b=\""`), line);
});

Deno.test("a field cannot replace time, level or message", () => {
  const event = JSON.parse(logged("json", "true one", { message: "false one", level: "debug" }));
  assert.equal(event.message, "true one");
  assert.equal(event.message_, "false one");
  assert.equal(event.level, "info");
});

Deno.test("secrets are redacted at any depth", () => {
  const secret = new Redacted("hunter2");
  for (const format of ["json", "text"] as const) {
    const line = logged(format, "x", { secret, deep: { list: [secret] }, set: new Set([secret]) });
    assert.ok(!line.includes("hunter2") && line.includes("[redacted]"), line);
  }
});

Deno.test("a value that cannot be serialised is replaced by a note, and the event is still written", () => {
  const circle: LogFields = {};
  circle.self = circle;
  const throwing = {
    toJSON() {
      throw new Error("no");
    },
  };
  const event = JSON.parse(logged("json", "x", { circle, throwing, big: 12n, none: undefined }));
  assert.equal(event.circle, "[cannot be shown]");
  assert.equal(event.throwing, "[cannot be shown]");
  assert.equal(event.big, "12");
  assert.ok(!("none" in event));
});

Deno.test("an error is shown with its causes and without its stack", () => {
  const error = new TypeError("outer", { cause: new Error("inner") });
  assert.equal(
    JSON.parse(logged("json", "x", { error })).error,
    "TypeError: outer (because Error: inner)",
  );
});

Deno.test("long values are truncated", () => {
  const line = logged("json", "x", { path: "a".repeat(1024 * 1024) });
  assert.ok(line.length < 5000);
  assert.ok(line.includes("(1048576 characters)"));
});

Deno.test("a value that is truncated within a character is Unicode text", () => {
  const { path } = JSON.parse(logged("json", "x", { path: "a" + "\u{1f600}".repeat(4096) }));
  assert.ok(path.isWellFormed(), JSON.stringify(path.slice(-40)));
});

Deno.test("an exception of the output does not reach the caller", () => {
  const write = () => {
    throw new Error("full");
  };
  createLogger({ level: "info", format: "json", write }).error("x");
});

const decoder = new TextDecoder();

/** A stream whose reader takes bytes only when it is told to. */
class SlowReader {
  text = "";
  failure: Error | null = null;
  #release: () => void = () => {};
  #gate = new Promise<void>((resolve) => this.#release = resolve);

  async write(bytes: Uint8Array): Promise<number> {
    await this.#gate;
    if (this.failure !== null) throw this.failure;
    // Half of it, as a full pipe does.
    const taken = Math.ceil(bytes.length / 2);
    this.text += decoder.decode(bytes.subarray(0, taken));
    return taken;
  }

  release(): void {
    this.#release();
  }
}

Deno.test("lines arrive complete and in order through a slow reader", async () => {
  const reader = new SlowReader();
  const output = new LineOutput(reader);
  reader.release();
  for (const line of ["one\n", "two\n"]) output.write(line);
  await output.flush();
  output.write("three\n");
  await output.flush();
  assert.equal(reader.text, "one\ntwo\nthree\n");
});

Deno.test("lines beyond the buffer are dropped, counted and reported", async () => {
  const reader = new SlowReader();
  const output = new LineOutput(reader, 100);
  for (let i = 0; i < 10; i++) output.write(`${"x".repeat(39)}\n`);
  assert.equal(output.dropped, 8);
  reader.release();
  await output.flush();
  output.write("after\n");
  await output.flush();
  const lines = reader.text.trimEnd().split("\n");
  assert.equal(lines.length, 4);
  assert.equal(JSON.parse(lines[2]).count, 8);
  assert.equal(lines[3], "after");
});

Deno.test("a reader that closes loses lines, and nothing else is affected", async () => {
  const reader = new SlowReader();
  reader.failure = new Deno.errors.BrokenPipe("gone");
  const output = new LineOutput(reader);
  output.write("one\n");
  reader.release();
  await output.flush();
  output.write("two\n");
  await output.flush();
  assert.equal(output.dropped, 2);
  await output.closed;
});

Deno.test("flush gives up if the reader is stuck", async () => {
  const output = new LineOutput({ write: () => new Promise<number>(() => {}) });
  output.write("one\n");
  await output.flush(1);
});

Deno.test("a closed or full standard output neither blocks nor fails a process", async () => {
  const url = new URL("./log.ts", import.meta.url).href;
  const code = `import { createLogger, standardOutput } from ${JSON.stringify(url)};
    const logger = createLogger({ level: "info", format: "json" });
    for (let i = 0; i < 20000; i++) logger.info("x", { fill: "y".repeat(200) });
    await standardOutput().flush(200);
    console.error("dropped", standardOutput().dropped > 0);
    Deno.exit(0);`;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(file, code);
  const start = () =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-config", file],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  try {
    const closed = start();
    await closed.stdout.cancel();
    const full = start();
    for (const child of [closed, full]) {
      const status = await child.status;
      const message = await new Response(child.stderr).text();
      assert.ok(status.success, message);
      assert.match(message, /dropped true/);
    }
    await full.stdout.cancel();
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("lines are written again when a full disk has space, and none is partial", async () => {
  const written: string[] = [];
  let room = 6;
  const output = new LineOutput({
    write(bytes) {
      if (room === 0) return Promise.reject(new Error("No space left on device"));
      const part = bytes.subarray(0, room);
      room -= part.length;
      written.push(new TextDecoder().decode(part));
      return Promise.resolve(part.length);
    },
  });
  output.write("one\n");
  output.write("two\n");
  await output.flush();
  assert.equal(output.dropped, 1);
  room = Infinity;
  output.write("three\n");
  await output.flush();
  const lines = written.join("").split("\n");
  assert.deepEqual([lines[0], lines[1], lines[3]], ["one", "tw", "three"]);
  assert.equal(JSON.parse(lines[2]).count, 1);
});

Deno.test("dropped lines are reported once, also if a report of them is lost", async () => {
  let text = "";
  let isFull = true;
  const output = new LineOutput({
    write(bytes) {
      if (isFull) return Promise.reject(new Error("No space left on device"));
      text += new TextDecoder().decode(bytes);
      return Promise.resolve(bytes.length);
    },
  });
  for (let i = 0; i < 3; i++) {
    output.write("lost\n");
    await output.flush();
  }
  isFull = false;
  output.write("after\n");
  await output.flush();
  assert.equal(output.dropped, 3);
  assert.match(text, /^\{.*"count":3\}\nafter\n$/);
});

Deno.test("access log batches leave room for events", async () => {
  const reader = new SlowReader();
  const output = new LineOutput(reader, 800);
  const batch = () => new TextEncoder().encode("request\n".repeat(50));
  output.writeBatch(batch(), 50);
  output.writeBatch(batch(), 50);
  assert.equal(output.dropped, 50);
  output.write("event\n");
  assert.equal(output.dropped, 50);
  reader.release();
  await output.flush();
  assert.equal(reader.text.match(/request/g)?.length, 50);
  assert.match(reader.text, /"count":50\}\nevent\n$/);
});
