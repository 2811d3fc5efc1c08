/** The cost of a client that comes once: connect, one small request, close. */
import type { Case } from "../model.ts";

export const NEW_CONNECTIONS: Case = {
  name: "new-connections",
  about: "connect, GET, 200 with 6 bytes, close, no TLS",
  unit: "connection",
  path: "/small",
  http: 1,
  upstream: "http",
  connections: 16,
  streams: 1,
  uploadBytes: 0,
  tls: false,
  workers: 1,
};
