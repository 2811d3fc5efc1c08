/** What a stream costs that is open and mostly silent: memory, and CPU for the little it says. */
import type { Case } from "../model.ts";

export const H2_IDLE_STREAMS: Case = {
  name: "h2-idle-streams",
  about: "GET, an event of 24 bytes a second on each stream, HTTP/2 over TLS 1.3",
  unit: "event",
  path: "/events",
  http: 2,
  upstream: "http",
  // Within the 100 streams that HAProxy and Pingora allow on a connection.
  connections: 10,
  streams: 100,
  uploadBytes: 0,
  tls: true,
  workers: 1,
  held: { connections: 10, streams: 10 },
};
