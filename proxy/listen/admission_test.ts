import assert from "node:assert/strict";
import { Admission, type Sheddable } from "./admission.ts";
import { ConnectionCounts } from "./connection_counts.ts";

/** A crowd of connections, and the door that they come through. */
class Crowd {
  readonly open = new Map<string, Sheddable>();
  readonly shed: string[] = [];
  readonly door: Admission;

  readonly #exempt: string;

  constructor(connections: number, connectionsPerAddress = 0, exempt = "") {
    this.#exempt = exempt;
    const { open } = this;
    this.door = new Admission({
      limits: { connections, connectionsPerAddress },
      counts: new ConnectionCounts(),
      isExempt: (address) => address === exempt,
      connections: { [Symbol.iterator]: () => open.values() },
      onShed: (reason) => this.shed.push(reason),
    });
  }

  /** One comes, idle for so many seconds; -1 for one that works. */
  come(name: string, idle: number, address = "10.0.0.1"): boolean {
    const isExempt = address === this.#exempt;
    if (!this.door.hasRoom(address, 0) || !this.door.enter(address, isExempt)) return false;
    this.open.set(name, {
      idleSince: idle < 0 ? Infinity : performance.now() - idle * 1000,
      close: () => {
        this.open.delete(name);
        this.door.leave(address, isExempt);
      },
    });
    return true;
  }
}

Deno.test("from 80 percent on, the longest idle connection is closed first", () => {
  const crowd = new Crowd(10);
  for (let i = 0; i < 8; i++) assert.ok(crowd.come(`${i}`, [-1, 30, 5, -1, 60, 5, -1, 0][i]));
  assert.deepEqual(crowd.shed, []);
  crowd.come("8", -1);
  assert.deepEqual([...crowd.open.keys()], ["0", "2", "3", "5", "6", "7", "8"], "1 and 4 are gone");
  assert.deepEqual(crowd.shed, ["idle", "idle"]);
});

Deno.test("at the limit, active connections stay and a new one is rejected", () => {
  const crowd = new Crowd(10);
  for (let i = 0; i < 10; i++) assert.ok(crowd.come(`${i}`, -1));
  assert.equal(crowd.come("10", -1), false);
  assert.deepEqual(crowd.shed, ["connection_limit"]);
  assert.equal(crowd.open.size, 10);
});

Deno.test("handshakes in progress count as connections", () => {
  const crowd = new Crowd(10);
  for (let i = 0; i < 7; i++) assert.ok(crowd.come(`${i}`, -1));
  assert.equal(crowd.door.hasRoom("10.0.0.1", 2), true);
  assert.equal(crowd.door.hasRoom("10.0.0.1", 3), false);
});

Deno.test("many idle connections do not keep others out", () => {
  const crowd = new Crowd(100);
  for (let i = 0; i < 1000; i++) assert.ok(crowd.come(`${i}`, 2, `10.0.${i >> 8}.${i & 255}`));
  assert.ok(crowd.open.size <= 80);
});

Deno.test("an address at its limit is rejected, one shared by many clients is not", () => {
  const crowd = new Crowd(100, 2, "10.9.9.9");
  assert.ok(crowd.come("0", -1) && crowd.come("1", -1));
  assert.equal(crowd.come("2", -1), false);
  assert.deepEqual(crowd.shed, ["address_limit"]);
  for (let i = 0; i < 10; i++) assert.ok(crowd.come(`proxy ${i}`, -1, "10.9.9.9"));
});
