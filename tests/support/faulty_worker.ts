/**
 * A worker with faults to order. In: the messages of a real one. Out: what that does, but a delta
 * of the epoch `throw` makes it throw, and one of the epoch `hang` makes it hang.
 */
/// <reference lib="deno.worker" />
import "../../proxy/worker.ts";

const take = self.onmessage!;

self.onmessage = (event: MessageEvent) => {
  const epoch = event.data.kind === "delta" ? event.data.delta.version.epoch : "";
  if (epoch === "throw") {
    setTimeout(() => {
      throw new Error("a fault to order");
    });
  } else if (epoch === "hang") {
    for (;;);
  } else {
    take.call(self, event);
  }
};
