/** Latencies over TLS with half of what every proxy can carry. */
import { H1_HALF_RATE } from "./h1_half_rate.ts";
import type { Case } from "../model.ts";

export const H1_TLS_HALF_RATE: Case = {
  ...H1_HALF_RATE,
  name: "h1-tls-half-rate",
  about:
    "GET, 200 with 6 bytes, HTTP/1.1 over TLS 1.3, at half of the rate that the slowest carries",
  tls: true,
};
