/**
 * The proxy's supervisor that hangs when it is told to stop. In: the messages of a real one. Out: what
 * that does, until then.
 */
/// <reference lib="deno.worker" />
import "../../proxy/process/supervisor.ts";

const take = self.onmessage as (event: MessageEvent) => void;

self.onmessage = (event: MessageEvent) => {
  while (event.data.kind === "stop");
  take(event);
};
