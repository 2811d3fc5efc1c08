/** As `idle-10k-plain` by HTTP/2: what the state of frames, streams and HPACK adds. */
import { IDLE_10K_PLAIN } from "./idle_10k_plain.ts";
import type { Case } from "../model.ts";

export const IDLE_10K_H2C: Case = {
  ...IDLE_10K_PLAIN,
  name: "idle-10k-h2c",
  about: "10,000 connections, one GET each by HTTP/2 without TLS, then nothing",
  http: 2,
};
