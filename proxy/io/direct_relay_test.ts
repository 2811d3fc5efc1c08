import assert from "node:assert/strict";
import { ProxyError } from "../errors.ts";
import { Deadlines, NO_DEADLINE } from "./deadlines.ts";
import { Output, type WriteWaiter } from "./output.ts";
import type { Transport } from "./transport.ts";
import { type DirectReader, DirectRelay, type DirectSource } from "./direct_relay.ts";

/** Settles its reads and writes as told. */
class ManualTransport implements Transport {
  readonly written: string[] = [];
  #view: Uint8Array | null = null;
  #settling = Promise.withResolvers<number>();

  read(view: Uint8Array): Promise<number> {
    return this.#begin(view);
  }

  write(view: Uint8Array): Promise<number> {
    this.written.push(new TextDecoder().decode(view));
    return this.#begin(view);
  }

  get isBusy(): boolean {
    return this.#view !== null;
  }

  /** `text` has come. */
  arrive(text: string): Promise<void> {
    return this.settle(new TextEncoder().encodeInto(text, this.#view!).written);
  }

  /** The system has taken `count` bytes, or all. */
  async settle(count = this.#view!.length): Promise<void> {
    this.#view = null;
    this.#settling.resolve(count);
    await turn();
  }

  async fail(): Promise<void> {
    this.#view = null;
    this.#settling.reject(new Error("reset"));
    await turn();
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {}

  #begin(view: Uint8Array): Promise<number> {
    assert.equal(this.#view, null, "one at a time");
    this.#view = view;
    this.#settling = Promise.withResolvers();
    return this.#settling.promise;
  }
}

/** A byte of each message is framing; one with `!` is not to be relayed. */
function measure(bytes: Uint8Array, length: number): number {
  return new TextDecoder().decode(bytes.subarray(0, length)).includes("!") ? -1 : length - 1;
}

function turn(): Promise<void> {
  return new Promise((resume) => setTimeout(resume, 0));
}

/** Has a buffer of ten bytes. */
class TestSource implements DirectSource {
  readonly transport = new ManualTransport();
  isDirectlyReadable = true;
  counted = 0;
  /** What has been given back. */
  readonly given: unknown[] = [];
  readonly #buffer = new Uint8Array(10);

  beginDirectReads(_reader: unknown, _directReader: DirectReader): Uint8Array<ArrayBuffer> {
    this.isDirectlyReadable = false;
    return this.#buffer;
  }

  readonly returnRead = (count: number | null) => {
    this.given.push(count);
  };

  readonly returnError = (error: unknown) => {
    this.given.push(`${error}`);
  };

  endDirectReads(): void {
    this.isDirectlyReadable = true;
  }

  count(bytes: number): void {
    this.counted += bytes;
  }
}

class Scene implements WriteWaiter {
  readonly directSource = new TestSource();
  readonly target = new ManualTransport();
  readonly output: Output;
  readonly relay: DirectRelay;
  readonly events: string[] = [];
  readonly reader = { arrived() {}, broke() {} };

  constructor(timeout = 20_000) {
    const broke = () => new ProxyError("client_gone");
    this.output = new Output(this.target, new Deadlines(), timeout, 0, null, broke);
    this.relay = new DirectRelay(this.directSource, this.output, this, measure);
  }

  wrote(): void {
    this.events.push("wrote");
  }

  writeBroke(error: unknown): void {
    this.events.push((error as ProxyError).code);
  }

  begin(): boolean {
    return this.relay.begin(this.reader);
  }

  /** What has been counted: of the body, and of the output. */
  get counts(): [number, number] {
    return [this.directSource.counted, this.output.sent];
  }
}

Deno.test("messages are relayed until one must go to the body", async () => {
  const scene = new Scene();
  const { directSource, target } = scene;
  assert.ok(scene.begin());
  for (const text of ["one", "two", "three"]) {
    await directSource.transport.arrive(text);
    await target.settle();
  }
  assert.deepEqual(scene.counts, [0, 0]);
  await directSource.transport.arrive("four!");
  assert.deepEqual(target.written, ["one", "two", "three"]);
  assert.deepEqual(directSource.given, [5]);
  assert.deepEqual(scene.counts, [8, 11]);
  assert.equal(scene.output.directWriter, null);
  assert.deepEqual(scene.events, []);
});

for (const [what, text] of [["its end", ""], ["a full buffer", "0123456789"]]) {
  Deno.test(`${what} goes to the body`, async () => {
    const { directSource, target, ...scene } = new Scene();
    assert.ok(scene.relay.begin(scene.reader));
    await directSource.transport.arrive(text);
    assert.deepEqual(directSource.given, [text.length]);
    assert.deepEqual(target.written, []);
  });
}

Deno.test("a failed read goes to the body", async () => {
  const scene = new Scene();
  scene.begin();
  await scene.directSource.transport.fail();
  assert.deepEqual(scene.directSource.given, ["Error: reset"]);
  assert.deepEqual(scene.events, []);
});

Deno.test("a write in progress gets its deadline at the next check, and later messages are relayed", async () => {
  const scene = new Scene();
  const { directSource, target, output, relay } = scene;
  scene.begin();
  await directSource.transport.arrive("one");
  assert.deepEqual([relay.isReading, relay.isWriting, output.writing], [false, true, false]);
  assert.equal(output.isOverdue(0), false);
  assert.deepEqual([relay.isWriting, output.writing], [true, true]);
  assert.notEqual(output.deadline, NO_DEADLINE);
  assert.ok(output.isOverdue(output.deadline));
  await target.settle(1);
  assert.deepEqual(target.written, ["one", "ne"]);
  await target.settle();
  assert.deepEqual(scene.events, ["wrote"]);
  assert.deepEqual(scene.counts, [2, 3]);
  assert.equal(relay.isWriting, false);
  assert.ok(scene.begin());
  await directSource.transport.arrive("two");
  await target.settle();
  relay.look();
  assert.deepEqual(scene.counts, [4, 6]);
  assert.ok(relay.isReading);
});

Deno.test("the rest of a short write follows, in order", async () => {
  const scene = new Scene();
  const { directSource, target } = scene;
  scene.begin();
  await directSource.transport.arrive("message");
  await target.settle(3);
  assert.deepEqual(scene.events, []);
  await target.settle(2);
  await target.settle();
  assert.deepEqual(target.written, ["message", "sage", "ge"]);
  assert.deepEqual(scene.events, ["wrote"]);
  assert.deepEqual(scene.counts, [6, 7]);
});

for (const isLookedAt of [false, true]) {
  Deno.test(`a failed write is reported once, ${isLookedAt ? "after" : "without"} a look`, async () => {
    const scene = new Scene();
    const { directSource, target, output, relay } = scene;
    scene.begin();
    await directSource.transport.arrive("one");
    if (isLookedAt) relay.look();
    await target.fail();
    assert.deepEqual(scene.events, ["client_gone"]);
    assert.deepEqual([relay.isWriting, output.writing, output.directWriter], [false, false, null]);
    assert.deepEqual(directSource.given, []);
  });
}

Deno.test("after a stop, the owner is told when the last write has ended", async () => {
  const scene = new Scene();
  const { directSource, target, relay } = scene;
  scene.begin();
  await directSource.transport.arrive("one");
  relay.stop();
  assert.deepEqual(scene.events, []);
  await target.settle();
  assert.deepEqual(scene.events, ["wrote"]);
  assert.equal(directSource.transport.isBusy, false);
  assert.equal(scene.begin(), false);
});

Deno.test("after a stop, the next message goes to the body", async () => {
  const scene = new Scene();
  scene.begin();
  scene.relay.stop();
  await scene.directSource.transport.arrive("one");
  assert.deepEqual(scene.directSource.given, [3]);
  assert.deepEqual(scene.target.written, []);
});

Deno.test("messages are not relayed while the write timeout is short or the body is not readable", () => {
  const short = new Scene(5_000);
  assert.equal(short.begin(), false);
  const scene = new Scene();
  scene.directSource.isDirectlyReadable = false;
  assert.equal(scene.begin(), false);
});
