/** What a connection costs that nobody uses at the moment, as most of browsers' are. */
import { IDLE } from "../loads/idle.ts";
import type { Case } from "../model.ts";

export const IDLE_10K_PLAIN: Case = {
  name: "idle-10k-plain",
  about: "10,000 connections, one GET each, then nothing",
  unit: "connection",
  path: "/small",
  http: 1,
  upstream: "http",
  connections: 10_000,
  streams: 1,
  uploadBytes: 0,
  tls: false,
  workers: 1,
  load: IDLE,
  mostRounds: 2,
  held: { connections: 100, streams: 1 },
};
