/** The cost of bytes from a backend to a client in frames, under flow control. */
import type { Case } from "../model.ts";

export const H2_DOWN: Case = {
  name: "h2-1mib-down",
  about: "GET, 200 with 1 MiB, HTTP/2 over TLS 1.3",
  unit: "request",
  path: "/1mib",
  http: 2,
  upstream: "http",
  connections: 4,
  streams: 4,
  uploadBytes: 0,
  tls: true,
  workers: 1,
};
