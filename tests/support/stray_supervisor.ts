/**
 * The proxy's supervisor with a mistake at its start. In: the messages of a real one. Out: what that
 * does, and a rejection that nobody handles as soon as it has begun.
 */
/// <reference lib="deno.worker" />
import "../../proxy/process/supervisor.ts";

const take = self.onmessage as (event: MessageEvent) => void;

self.onmessage = (event: MessageEvent) => {
  take(event);
  if (event.data.kind === "start") Promise.reject(new Error("nobody handles this"));
};
