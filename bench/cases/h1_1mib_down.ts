/** The cost of bytes from a backend to a client. */
import type { Case } from "../model.ts";

export const H1_DOWN: Case = {
  name: "h1-1mib-down",
  about: "GET, 200 with 1 MiB, HTTP/1.1",
  unit: "request",
  path: "/1mib",
  http: 1,
  upstream: "http",
  connections: 8,
  streams: 1,
  uploadBytes: 0,
  tls: false,
  workers: 1,
};
