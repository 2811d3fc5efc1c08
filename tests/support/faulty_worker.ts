/**
 * A worker with faults to order. In: the messages of a real one. Out: what that does, but a delta
 * of the epoch `throw` makes it throw, one of the epoch `hang` makes it hang (`hang-0` the worker 0
 * alone) until `settings.going` says otherwise, and one of the epoch `swell` fills its heap. With the epoch `fail` it throws at its start too. From one of the epoch
 * `deafen` to one of the epoch `hear` its HTTPS ports take connections and say nothing.
 */
/// <reference lib="deno.worker" />
import "../../proxy/process/worker.ts";
import { DeafPorts } from "./deaf_ports.ts";

const ports = new DeafPorts();

/** Shared with the test; while it is 0, who hangs does. */
let going = new Int32Array(new SharedArrayBuffer(4));
let place = 0;

const take = self.onmessage as (event: MessageEvent) => void;

self.onmessage = obey;

function obey(event: MessageEvent): void {
  const { kind, delta, port } = event.data;
  if (kind === "start") {
    going = event.data.settings.going ?? going;
    place = event.data.cells.worker;
  }
  const epoch = kind === "delta" ? delta.version.epoch : "";
  if (kind === "start" && delta.version.epoch === "fail") {
    throw new Error("a start to fail");
  } else if (epoch === "throw" || epoch === "fail") {
    setTimeout(() => {
      throw new Error("a fault to order");
    });
  } else if (epoch === "hang" || epoch === `hang-${place}`) {
    Atomics.wait(going, 0, 0);
    take(event);
  } else if (epoch === "swell") {
    for (const held: unknown[] = [];;) held.push({ x: held.length });
  } else {
    if (epoch === "deafen") ports.deafen();
    if (epoch === "hear") ports.hear();
    take(event);
    if (kind === "link") port.onmessage = obey;
  }
}
