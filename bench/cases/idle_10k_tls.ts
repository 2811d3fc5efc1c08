/** What a connection costs that nobody uses at the moment, as most of browsers' are, by TLS. */
import { IDLE_10K_PLAIN } from "./idle_10k_plain.ts";
import type { Case } from "../model.ts";

export const IDLE_10K_TLS: Case = {
  ...IDLE_10K_PLAIN,
  name: "idle-10k-tls",
  about: "10,000 connections by TLS 1.3, one GET each, then nothing",
  tls: true,
};
