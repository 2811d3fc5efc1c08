import assert from "node:assert/strict";
import { Deadlines, SWEEP_INTERVAL } from "../io/deadlines.ts";
import type { ProxyError } from "../errors.ts";
import { Cancellation } from "../http/cancellation.ts";
import { fieldsOf } from "../http/fields.ts";
import { ExchangeRecord, RequestHead } from "../http/message.ts";
import { GrpcDeadlines, type Timed } from "./deadline.ts";

/** A call whose head began at 1,000 ms. */
function call(...timeout: string[]): Timed & { ended: ProxyError[] } {
  const request = new RequestHead();
  Object.assign(request.fields, fieldsOf(timeout.map((value) => ["grpc-timeout", value])));
  const record = new ExchangeRecord();
  record.startedAt = 1_000;
  const ended: ProxyError[] = [];
  const cancellation = new Cancellation();
  cancellation.register((reason) => ended.push(reason));
  return { request, record, ended, cancellation };
}

/** Swept by hand. */
class StillDeadlines extends Deadlines {
  readonly entries = new Set<unknown>();
  override add(entry: unknown): void {
    this.entries.add(entry);
  }
  override delete(entry: unknown): void {
    this.entries.delete(entry);
  }
}

function watching(...calls: Timed[]) {
  const deadlines = new StillDeadlines();
  const grpc = new GrpcDeadlines(deadlines);
  for (const call of calls) assert.equal(grpc.watch(call), "watched");
  return { grpc, deadlines };
}

Deno.test("a call ends when its time since the first byte of its head has passed, and not before", () => {
  const short = call("200m");
  const long = call("3S");
  const { grpc } = watching(short, long);
  grpc.check(1_200 + SWEEP_INTERVAL - 1);
  assert.deepEqual(short.ended, []);
  grpc.check(1_200 + SWEEP_INTERVAL);
  assert.deepEqual(short.ended.map(({ code }) => code), ["deadline_passed"]);
  assert.deepEqual(long.ended, []);
  grpc.check(4_000 + SWEEP_INTERVAL);
  assert.equal(long.ended.length, 1);
  assert.equal(short.ended.length, 1);
});

Deno.test("work that starts after a call's deadline is cancelled at once", () => {
  const late = call("1m");
  const { grpc } = watching(late);
  late.cancellation.reset();
  grpc.check(5_000);
  assert.equal(grpc.size, 0);
  late.cancellation.register((reason) => late.ended.push(reason));
  assert.deepEqual(late.ended.map(({ code }) => code), ["deadline_passed"]);
});

Deno.test("a call that has ended is not cancelled", () => {
  const done = call("1m");
  const { grpc } = watching(done);
  grpc.forget(done);
  grpc.check(5_000);
  assert.deepEqual(done.ended, []);
});

Deno.test("there are no sweeps while no call has a deadline", () => {
  const [first, second] = [call("1m"), call("1S")];
  const { grpc, deadlines } = watching(first, second);
  assert.equal(deadlines.entries.size, 1);
  grpc.check(1_500);
  grpc.forget(first);
  assert.equal(deadlines.entries.size, 1);
  grpc.forget(second);
  assert.equal(deadlines.entries.size, 0);
  assert.equal(grpc.watch(call("1m")), "watched");
  assert.equal(deadlines.entries.size, 1);
  grpc.check(5_000);
  assert.equal(deadlines.entries.size, 0);
});

Deno.test("a missing timeout and a malformed one are distinguished", () => {
  const { grpc, deadlines } = watching();
  assert.equal(grpc.watch(call()), "none");
  assert.equal(grpc.watch(call("1 S")), "malformed");
  assert.equal(grpc.watch(call("1S", "1S")), "malformed");
  assert.deepEqual([grpc.size, deadlines.entries.size], [0, 0]);
});
