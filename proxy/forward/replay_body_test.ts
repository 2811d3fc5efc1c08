import assert from "node:assert/strict";
import type { Body } from "../http/body.ts";
import { ReplayBody } from "./replay_body.ts";

const LIMIT = 16 * 1024;

/** Gives these views, each from one buffer that is used again; a promise of those that are late. */
class Source implements Body {
  readonly trailers = null;
  readonly late: (() => void)[] = [];
  readonly #views: (string | "late")[];
  readonly #buffer = new Uint8Array(64 * 1024);
  reads = 0;

  constructor(views: readonly string[]) {
    this.#views = [...views];
  }

  get done(): boolean {
    return this.#views.length === 0;
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    this.reads++;
    if (this.#views[0] !== "late") return this.#next();
    this.#views.shift();
    return new Promise((resolve) => this.late.push(() => resolve(this.#next())));
  }

  #next(): Uint8Array | null {
    const text = this.#views.shift();
    if (text === undefined) return null;
    this.#buffer.fill(0);
    return this.#buffer.subarray(0, new TextEncoder().encodeInto(text, this.#buffer).written);
  }
}

async function rest(body: Body): Promise<string> {
  let text = "";
  for (;;) {
    const view = await body.read();
    if (view === null) return text;
    text += new TextDecoder().decode(view);
  }
}

Deno.test("a body is read as sent, and again from its beginning", async () => {
  const body = new ReplayBody(new Source(["one ", "two ", "three"]), LIMIT);
  assert.equal(body.done, false);
  assert.equal(await rest(body), "one two three");
  assert.equal(body.done, true);
  for (let i = 0; i < 2; i++) {
    body.rewind();
    assert.equal(body.done, false);
    assert.equal(await rest(body), "one two three");
  }
});

Deno.test("a read in progress during a replay comes after the buffered bytes, once", async () => {
  const source = new Source(["one ", "late", "two ", "three"]);
  const body = new ReplayBody(source, LIMIT);
  await body.read();
  const lost = body.read();
  body.rewind();
  const again = rest(body);
  source.late[0]();
  assert.equal(await again, "one two three");
  assert.equal(new TextDecoder().decode((await lost)!).length, 4);
  body.rewind();
  assert.equal(await rest(body), "one two three");
});

for (const late of ["two ", "x".repeat(20_000)]) {
  Deno.test(`${late.length} bytes that arrive before the buffered bytes are replayed are not lost`, async () => {
    const source = new Source(["one ", "late", late, "three"]);
    const body = new ReplayBody(source, LIMIT);
    await body.read();
    const lost = body.read();
    body.rewind();
    source.late[0]();
    await lost;
    assert.equal(body.done, false);
    assert.equal(await rest(body), `one ${late}three`);
    assert.equal(body.done, true);
    assert.equal(body.isWhole, late.length < 16_384);
  });
}

Deno.test("an end that arrives before the buffered bytes are replayed is an end", async () => {
  const source = new Source(["one", "late"]);
  const body = new ReplayBody(source, LIMIT);
  await body.read();
  const lost = body.read();
  body.rewind();
  source.late[0]();
  assert.equal(await lost, null);
  assert.equal(await rest(body), "one");
});

Deno.test("an attempt that has failed takes nothing from the next one", async () => {
  const source = new Source(["one ", "late", "two ", "three ", "four"]);
  const body = new ReplayBody(source, LIMIT);
  const failed = body.reader();
  await failed.read();
  // Both wait for the same bytes, the failed one first.
  const goesOn = rest(failed);
  body.rewind();
  const again = rest(body.reader());
  source.late[0]();
  await assert.rejects(goesOn, /the attempt has ended/);
  assert.equal(await again, "one two three four");
});

Deno.test("an attempt that has failed does not read past what can be sent again", async () => {
  const source = new Source(["one ", "late", "two ", "x".repeat(20_000)]);
  const body = new ReplayBody(source, LIMIT);
  const failed = body.reader();
  await failed.read();
  const goesOn = rest(failed);
  body.rewind();
  source.late[0]();
  await assert.rejects(goesOn, /the attempt has ended/);
  // The next attempt begins only now, as its connection had to be opened.
  assert.equal(await rest(body.reader()), `one two ${"x".repeat(20_000)}`);
});

Deno.test("a large body, or one that will not be retried, is not buffered", async () => {
  const large = new ReplayBody(new Source(["x".repeat(10_000), "y".repeat(10_000)]), LIMIT);
  await large.read();
  assert.equal(large.isWhole, true);
  await large.read();
  assert.equal(large.isWhole, false);
  const forgotten = new ReplayBody(new Source(["one ", "two"]), LIMIT);
  await forgotten.read();
  forgotten.forget();
  assert.equal(forgotten.isWhole, false);
  assert.equal(await rest(forgotten), "two");
});

Deno.test("a replayed body is released only after it has been read", async () => {
  const body = new ReplayBody(new Source(["one ", "two ", "three"]), LIMIT);
  await body.read();
  await body.read();
  body.rewind();
  await body.read();
  body.forget();
  assert.equal(await rest(body), "two three");
});

Deno.test("an aborted body fails for every reader", async () => {
  const source: Body = {
    done: false,
    trailers: null,
    read: () => Promise.reject(new Error("gone")),
  };
  const body = new ReplayBody(source, LIMIT);
  await assert.rejects(Promise.resolve(body.read()), /gone/);
  body.rewind();
  await assert.rejects(Promise.resolve(body.read()), /gone/);
});
