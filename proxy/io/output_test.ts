import assert from "node:assert/strict";
import { ProxyError } from "../errors.ts";
import { BufferPool } from "./buffer_pool.ts";
import { Deadlines } from "./deadlines.ts";
import { Output } from "./output.ts";
import type { Transport } from "./transport.ts";

/** Takes so many bytes of each write at most, or fails. */
class SlowTransport implements Transport {
  written = "";
  fails = false;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  async write(view: Uint8Array): Promise<number> {
    // Settles later, as the system does.
    await Promise.resolve();
    if (this.fails) throw new Error("reset");
    const taken = view.subarray(0, this.#most);
    this.written += new TextDecoder().decode(taken);
    return taken.length;
  }

  read(): Promise<null> {
    return Promise.resolve(null);
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}
}

function outputTo(transport: Transport): Output {
  return new Output(
    transport,
    new Deadlines(),
    1_000,
    0,
    null,
    () => new ProxyError("client_gone"),
  );
}

function bufferWith(pool: BufferPool, text: string): Uint8Array<ArrayBuffer> {
  const buffer = pool.take();
  new TextEncoder().encodeInto(text, buffer);
  return buffer;
}

Deno.test("a write that nobody awaits goes out whole, and its buffer comes back to the pool", async () => {
  const transport = new SlowTransport(4);
  const output = outputTo(transport);
  const pool = new BufferPool(64, 1);
  const buffer = bufferWith(pool, "hello world and more");
  output.writeLater(buffer, "hello world".length, pool);
  assert.deepEqual(output.writing, true);
  await output.pending;
  assert.deepEqual(transport.written, "hello world");
  assert.deepEqual(output.sent, "hello world".length);
  assert.deepEqual([output.pending, output.writing, output.isFree], [null, false, true]);
  assert.equal(pool.take(), buffer);
});

Deno.test("writes that nobody awaits go out one behind the other", async () => {
  const transport = new SlowTransport(2);
  const output = outputTo(transport);
  const pool = new BufferPool(64, 2);
  output.writeLater(bufferWith(pool, "first "), 6, pool);
  output.writeLater(bufferWith(pool, "second "), 7, pool);
  await output.after(() => output.writeLater(bufferWith(pool, "third"), 5, pool));
  await output.pending;
  assert.deepEqual(transport.written, "first second third");
  assert.deepEqual([output.pending, output.writing], [null, false]);
});

Deno.test("a failed write is reported once, and its buffer is not reused", async () => {
  const transport = new SlowTransport(4);
  transport.fails = true;
  const output = outputTo(transport);
  const pool = new BufferPool(64, 1);
  const buffer = bufferWith(pool, "hello");
  const failures: unknown[] = [];
  output.writeLater(buffer, 5, pool, (error) => failures.push(error));
  await output.pending;
  assert.deepEqual(failures.map((error) => (error as ProxyError).code), ["client_gone"]);
  assert.deepEqual([output.pending, output.writing], [null, false]);
  assert.notEqual(pool.take(), buffer);
});

Deno.test("a write that tells its waiter goes out whole, and its failure is told", async () => {
  const transport = new SlowTransport(4);
  const output = outputTo(transport);
  const bytes = new TextEncoder().encode("hello world and more");
  const write = (length: number) =>
    new Promise<unknown>((resolve) =>
      output.writeThen(bytes, length, { wrote: () => resolve(null), writeBroke: resolve })
    );
  assert.equal(await write("hello world".length), null);
  assert.equal(await write(bytes.length), null);
  assert.deepEqual(transport.written, "hello worldhello world and more");
  assert.deepEqual(output.sent, "hello worldhello world and more".length);
  assert.deepEqual([output.writing, output.isFree], [false, true]);
  transport.fails = true;
  assert.ok(await write(3) instanceof ProxyError);
  assert.deepEqual([output.writing, output.isFree], [false, true]);
});

Deno.test("a write with a timeout below ten seconds has the next sweep check its deadline", async () => {
  for (const [timeout, stirs] of [[1_000, 1], [9_999, 1], [10_000, 0], [30_000, 0]]) {
    const deadlines = new CountedStirs();
    const owner = { deadlinePlace: -1, check: () => {} };
    const broke = () => new ProxyError("client_gone");
    const output = new Output(new SlowTransport(4), deadlines, timeout, 0, owner, broke);
    const writing = output.write(new Uint8Array(4));
    assert.equal(deadlines.stirs, stirs, `${timeout} ms`);
    assert.equal(output.isOverdue(deadlines.now + timeout), false);
    assert.equal(output.isOverdue(deadlines.now + timeout + 1_000), true);
    await writing;
  }
});

class CountedStirs extends Deadlines {
  stirs = 0;

  override stir(): void {
    this.stirs++;
  }
}
