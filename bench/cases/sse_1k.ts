/** What a stream of events costs that says little: memory, and CPU for each event. */
import { WEBSOCKET_1K } from "./websocket_1k.ts";
import type { Case } from "../model.ts";

/** As many connections, held in the same way. */
export const SSE_1K: Case = {
  ...WEBSOCKET_1K,
  name: "sse-1k",
  about: "GET, an event of 24 bytes a second on each connection, HTTP/1.1",
  unit: "event",
  path: "/events",
};
