/** Latencies, their tail above all, with half of what every proxy can carry. */
import { OPEN_LOOP } from "../loads/open_loop.ts";
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const H1_HALF_RATE: Case = {
  ...H1_SMALL,
  name: "h1-half-rate",
  about: "GET, 200 with 6 bytes, HTTP/1.1, at half of the rate that the slowest carries",
  load: OPEN_LOOP,
  pace: 0.5,
  // Those that carry about as much as Pingress, or more: by half of what the slowest of all carry,
  // the others would be at rest, and nothing would be learnt of their tails.
  peers: ["pingress", "nginx", "nginx-1.31", "haproxy", "haproxy-2.8", "pingora"],
};
