/** What a second event loop costs, and what it brings where there are cores to spare for it. */
import { type Case } from "../case.ts";

export const H1_SMALL_2_WORKERS: Case = {
  name: "h1-small-2-workers",
  about: "GET, 200 with 6 bytes, HTTP/1.1, two workers on one port",
  unit: "request",
  path: "/small",
  // The kernel deals connections out by chance; with many, both workers get about half.
  connections: 64,
  uploadBytes: 0,
  tls: false,
  workers: 2,
};
