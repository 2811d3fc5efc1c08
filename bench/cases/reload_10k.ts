/** What requests suffer from while the configuration changes all the time. */
import { RELOADS } from "../besides/reloads.ts";
import { ROUTES_10K } from "./routes_10k.ts";
import type { Case } from "../model.ts";

const { baseline: _, ...STEADY } = ROUTES_10K;

export const RELOAD_10K: Case = {
  ...STEADY,
  name: "reload-10k",
  about: "h1-small over 10,000 routes in turn, of which one changes each 100 ms",
  baseline: STEADY,
  beside: RELOADS,
};
