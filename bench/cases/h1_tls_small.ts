/** The cost of an exchange over TLS, on connections that stay: records, not handshakes. */
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const H1_TLS_SMALL: Case = {
  ...H1_SMALL,
  name: "h1-tls-small",
  about: "GET, 200 with 6 bytes, HTTP/1.1 over TLS 1.3",
  tls: true,
};
