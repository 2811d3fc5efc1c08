/** How long a client waits that comes once, with half of what every proxy can carry. */
import { OPEN_LOOP } from "../loads/open_loop.ts";
import { NEW_CONNECTIONS } from "./new_connections.ts";
import type { Case } from "../model.ts";

export const NEW_CONNECTIONS_HALF_RATE: Case = {
  ...NEW_CONNECTIONS,
  name: "new-connections-half-rate",
  about: "connect, GET, 200 with 6 bytes, close, at half of the rate that the slowest carries",
  // At the same time, at most: some are late, and the next ones have to be opened.
  connections: 64,
  load: OPEN_LOOP,
  pace: 0.5,
  // As for `h1-half-rate`: by half of what the slowest of all carry, the others would be at rest.
  peers: ["pingress", "nginx", "nginx-1.31", "haproxy", "haproxy-2.8"],
};
