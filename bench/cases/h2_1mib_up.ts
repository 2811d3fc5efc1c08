/** The cost of bytes from a client to a backend in frames, under flow control. */
import { H2_DOWN } from "./h2_1mib_down.ts";
import type { Case } from "../model.ts";

export const H2_UP: Case = {
  ...H2_DOWN,
  name: "h2-1mib-up",
  about: "POST of 1 MiB, 200 with 6 bytes, HTTP/2 over TLS 1.3",
  path: "/upload",
  uploadBytes: 1024 * 1024,
};
