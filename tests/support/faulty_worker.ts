/**
 * A worker with faults to order. In: the messages of a real one. Out: what that does, but a delta
 * of the epoch `throw` makes it throw, one of the epoch `hang` makes it hang, and one of the epoch
 * `swell` fills its heap. With the epoch `fail` it throws at its start too. From one of the epoch
 * `deafen` to one of the epoch `hear` its HTTPS ports take connections and say nothing.
 */
/// <reference lib="deno.worker" />
import "../../proxy/worker.ts";
import { DeafPorts } from "./deaf_ports.ts";

const ports = new DeafPorts();

const take = self.onmessage as (event: MessageEvent) => void;

self.onmessage = (event: MessageEvent) => {
  const { kind, delta } = event.data;
  const epoch = kind === "delta" ? delta.version.epoch : "";
  if (kind === "start" && delta.version.epoch === "fail") {
    throw new Error("a start to fail");
  } else if (epoch === "throw" || epoch === "fail") {
    setTimeout(() => {
      throw new Error("a fault to order");
    });
  } else if (epoch === "hang") {
    for (;;);
  } else if (epoch === "swell") {
    for (const held: unknown[] = [];;) held.push({ x: held.length });
  } else {
    if (epoch === "deafen") ports.deafen();
    if (epoch === "hear") ports.hear();
    take(event);
  }
};
