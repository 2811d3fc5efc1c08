/** How long an event takes that a thousand streams get at once: the last of them waits for all. */
import { SSE_1K } from "./sse_1k.ts";
import type { Case } from "../model.ts";

export const SSE_1K_BURST: Case = {
  ...SSE_1K,
  name: "sse-1k-burst",
  about: "GET, an event of 24 bytes a second on all connections at once, HTTP/1.1",
  path: "/burst",
};
