import assert from "node:assert/strict";
import { ConnectionCounts } from "./connection_counts.ts";

const limits = { connections: 10, connectionsPerAddress: 3 };

Deno.test("connections are counted up to the limit, and closed ones make room", () => {
  const counts = new ConnectionCounts();
  for (let i = 0; i < 10; i++) assert.equal(counts.enter(`10.0.0.${i}`, limits), null);
  assert.equal(counts.enter("10.0.1.1", limits), "connection_limit");
  assert.equal(counts.total, 10);
  counts.leave("10.0.0.3", limits);
  assert.equal(counts.enter("10.0.1.1", limits), null);
});

Deno.test("one address cannot exceed its share, and takes none from others", () => {
  const counts = new ConnectionCounts();
  for (let i = 0; i < 3; i++) assert.equal(counts.enter("10.0.0.1", limits), null);
  for (let i = 0; i < 100; i++) assert.equal(counts.enter("10.0.0.1", limits), "address_limit");
  assert.equal(counts.total, 3);
  assert.equal(counts.refusal("10.0.0.1", limits, 0), "address_limit");
  assert.equal(counts.refusal("10.0.0.2", limits, 0), null);
  assert.equal(counts.refusal("10.0.0.2", limits, 7), "connection_limit");
  assert.equal(counts.enter("10.0.0.2", limits), null);
  counts.leave("10.0.0.1", limits);
  assert.equal(counts.enter("10.0.0.1", limits), null);
});

Deno.test("addresses of one IPv6 /64 share a limit, those of another do not", () => {
  const counts = new ConnectionCounts();
  const one = ["2001:db8::1", "2001:db8:0:0:1::", "2001:db8::ffff:1:2:3"];
  for (const address of one) assert.equal(counts.enter(address, limits), null);
  assert.equal(counts.enter("2001:db8::4", limits), "address_limit");
  assert.equal(counts.enter("2001:db8:0:1::4", limits), null);
  assert.equal(counts.enter("::1", limits), null);
});

Deno.test("workers share the count, and a lost worker's connections are subtracted", () => {
  const cells = ConnectionCounts.cellsFor(3);
  const workers = [0, 1, 2].map((worker) => new ConnectionCounts(cells, worker));
  for (const worker of workers) assert.equal(worker.enter("10.0.0.1", limits), null);
  assert.equal(workers[0].enter("10.0.0.1", limits), "address_limit");
  for (let i = 0; i < 7; i++) assert.equal(workers[1].enter(`10.1.0.${i}`, limits), null);
  assert.equal(workers[2].enter("10.2.0.1", limits), "connection_limit");
  ConnectionCounts.clear(cells, 1);
  assert.equal(workers[0].total, 2);
  assert.equal(workers[2].enter("10.0.0.1", limits), null);
});

Deno.test("different addresses do not count for each other", () => {
  const counts = new ConnectionCounts();
  const many = { connections: 16_384, connectionsPerAddress: 10 };
  let refused = 0;
  for (let i = 0; i < 16_384; i++) {
    if (counts.enter(`10.${i >> 8}.${i & 255}.1`, many) !== null) refused++;
  }
  assert.equal(refused, 0);
});
