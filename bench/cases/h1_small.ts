/** The cost of an exchange itself: nearly all bytes are heads. */
import type { Case } from "../model.ts";

export const H1_SMALL: Case = {
  name: "h1-small",
  about: "GET, 200 with 6 bytes, HTTP/1.1",
  unit: "request",
  path: "/small",
  http: 1,
  upstream: "http",
  // Enough to keep a proxy busy without a pause, few enough to leave the latency readable.
  connections: 32,
  streams: 1,
  uploadBytes: 0,
  tls: false,
  workers: 1,
};
