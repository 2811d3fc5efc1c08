/** Annotations about canaries: Ingresses that take a part of the requests of another one. */
import { type Group, NOT_YET, OFF_BY_DEFAULT, row } from "./row.ts";
import { BOOL, HEADER_NAME_TEXT, int, LINE, PATTERN, text } from "./value.ts";

const CANARY_ROW = {
  scope: "service",
  invalid: "default",
  protects: false,
  verdict: NOT_YET,
} as const;

export const CANARY = {
  "canary": row({
    ...CANARY_ROW,
    risk: "Low",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    does: "makes the Ingress an alternative of another one with the same host and path",
  }),
  "canary-by-header": row({
    ...CANARY_ROW,
    risk: "Medium",
    value: HEADER_NAME_TEXT,
    does: 'sends requests with this header set to "always" to the canary',
  }),
  "canary-by-header-value": row({
    ...CANARY_ROW,
    risk: "Medium",
    value: LINE,
    does: "sends requests with this value of the header to the canary",
  }),
  "canary-by-header-pattern": row({
    ...CANARY_ROW,
    risk: "Medium",
    value: PATTERN,
    does: "sends requests whose header matches to the canary",
  }),
  "canary-by-cookie": row({
    ...CANARY_ROW,
    risk: "Medium",
    value: text(/^[\w.~-]+$/, "name of a cookie"),
    does: 'sends requests with this cookie set to "always" to the canary',
  }),
  "canary-weight": row({
    ...CANARY_ROW,
    risk: "Low",
    value: int(0),
    does: "sends so many of canary-weight-total requests to the canary",
  }),
  "canary-weight-total": row({
    ...CANARY_ROW,
    risk: "Low",
    value: int(1),
    does: "is the sum of weights; 100 by default",
  }),
} satisfies Group;
