/** The cost of an exchange over TLS, on connections that stay: records, not handshakes. */
import { type Case } from "../case.ts";

export const H1_TLS_SMALL: Case = {
  name: "h1-tls-small",
  about: "GET, 200 with 6 bytes, HTTP/1.1 over TLS 1.3",
  unit: "request",
  path: "/small",
  connections: 32,
  uploadBytes: 0,
  tls: true,
  workers: 1,
};
