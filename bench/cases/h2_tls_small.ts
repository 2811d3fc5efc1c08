/** The cost of an exchange by HTTP/2 as browsers and services come: over TLS, many at a time. */
import type { Case } from "../model.ts";

export const H2_TLS_SMALL: Case = {
  name: "h2-tls-small",
  about: "GET, 200 with 6 bytes, HTTP/2 over TLS 1.3",
  unit: "request",
  path: "/small",
  http: 2,
  upstream: "http",
  connections: 8,
  streams: 16,
  uploadBytes: 0,
  tls: true,
  workers: 1,
};
