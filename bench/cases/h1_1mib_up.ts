/** The cost of bytes from a client to a backend. */
import { type Case } from "../case.ts";

export const H1_UP: Case = {
  name: "h1-1mib-up",
  about: "POST of 1 MiB, 200 with 6 bytes, HTTP/1.1",
  unit: "request",
  path: "/upload",
  connections: 8,
  uploadBytes: 1024 * 1024,
  tls: false,
  workers: 1,
};
