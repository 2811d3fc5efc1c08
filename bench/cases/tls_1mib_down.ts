/** The cost of bytes from a backend to a client by TLS: records are copied, encrypted and framed. */
import { H1_DOWN } from "./h1_1mib_down.ts";
import type { Case } from "../model.ts";

export const TLS_1MIB_DOWN: Case = {
  ...H1_DOWN,
  name: "tls-1mib-down",
  about: "GET, 200 with 1 MiB, HTTP/1.1 over TLS 1.3",
  tls: true,
};
