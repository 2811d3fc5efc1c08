/** What traces cost, where one request in a hundred is exported to a collector. */
import { H1_SMALL } from "./h1_small.ts";
import type { Case } from "../model.ts";

export const TRACES: Case = {
  ...H1_SMALL,
  name: "traces",
  about: "h1-small with the spans of one request in a hundred sent to an OTLP collector",
  traceRatio: 0.01,
  baseline: H1_SMALL,
  peers: ["pingress"],
};
