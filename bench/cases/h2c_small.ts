/** As `h2-tls-small` without TLS: what is left is the cost of frames, streams and HPACK. */
import { H2_TLS_SMALL } from "./h2_tls_small.ts";
import type { Case } from "../model.ts";

export const H2C_SMALL: Case = {
  ...H2_TLS_SMALL,
  name: "h2c-small",
  about: "GET, 200 with 6 bytes, HTTP/2 without TLS",
  tls: false,
};
