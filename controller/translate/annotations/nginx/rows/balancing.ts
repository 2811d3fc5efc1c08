/** Annotations about which endpoint gets a request: load balancing, hashing and session affinity. */
import { type Group, instead, NOT_YET, OFF_BY_DEFAULT, row } from "./row.ts";
import { TEMPLATE } from "./template.ts";
import { ABSOLUTE_PATH, BOOL, int, oneOf, text } from "./value.ts";

const BALANCING = {
  scope: "service",
  invalid: "default",
  protects: false,
  verdict: NOT_YET,
} as const;

export const LOAD_BALANCING = {
  "load-balance": row({
    ...BALANCING,
    risk: "Low",
    value: oneOf(["round_robin", "ewma", "chash", "chashsubset", "sticky_balanced"]),
    isSame: (algorithm) => algorithm === "round_robin",
    verdict: instead(
      'In place of "ewma" write pingress.io/balance: least-requests on the Service; endpoints ' +
        'are taken in turn without it, as by "round_robin"',
    ),
    does: "sets the algorithm of load balancing",
  }),
  "upstream-hash-by": row({
    ...BALANCING,
    risk: "High",
    value: TEMPLATE,
    does: "sends requests with equal text to the same endpoint",
  }),
  "upstream-hash-by-subset": row({
    ...BALANCING,
    risk: "Low",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    does: "spreads requests with equal text over some endpoints",
  }),
  "upstream-hash-by-subset-size": row({
    ...BALANCING,
    risk: "Low",
    value: int(1),
    does: "is the number of these endpoints; 3 by default",
  }),
} satisfies Group;

export const SESSION_AFFINITY = {
  "affinity": row({
    ...BALANCING,
    risk: "Low",
    value: oneOf(["cookie"]),
    does: "sends the requests of a session to the same endpoint, by a cookie",
  }),
  "affinity-canary-behavior": row({
    ...BALANCING,
    risk: "Low",
    value: oneOf(["sticky", "legacy"]),
    does: "says whether a session stays with a canary",
  }),
  "affinity-mode": row({
    ...BALANCING,
    risk: "Medium",
    value: oneOf(["balanced", "persistent"]),
    does: "says whether sessions move to new endpoints",
  }),
  "session-cookie-name": row({
    ...BALANCING,
    risk: "Medium",
    value: text(/^[\w.~/:-]+$/, "name of a cookie"),
    does: "names the cookie; INGRESSCOOKIE by default",
  }),
  "session-cookie-path": row({
    ...BALANCING,
    risk: "Medium",
    value: ABSOLUTE_PATH,
    does: "sets Path of the cookie",
  }),
  "session-cookie-domain": row({
    ...BALANCING,
    risk: "Medium",
    value: text(/^[\w.~/:-]+$/, "domain"),
    does: "sets Domain of the cookie",
  }),
  "session-cookie-expires": row({
    ...BALANCING,
    risk: "Medium",
    value: int(-(2 ** 31)),
    does: "sets Expires of the cookie, in seconds from now",
  }),
  "session-cookie-max-age": row({
    ...BALANCING,
    risk: "Medium",
    value: int(-(2 ** 31)),
    does: "sets Max-Age of the cookie, in seconds",
  }),
  "session-cookie-samesite": row({
    ...BALANCING,
    risk: "Low",
    value: oneOf(["None", "Lax", "Strict"]),
    does: "sets SameSite of the cookie",
  }),
  "session-cookie-conditional-samesite-none": row({
    ...BALANCING,
    risk: "Low",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    does: "leaves SameSite=None out for browsers that misread it",
  }),
  "session-cookie-secure": row({
    ...BALANCING,
    risk: "Low",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    does: "sets Secure of the cookie",
  }),
  "session-cookie-partitioned": row({
    ...BALANCING,
    risk: "Low",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    does: "sets Partitioned of the cookie",
  }),
  "session-cookie-change-on-failure": row({
    ...BALANCING,
    risk: "Low",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    does: "gives the session another endpoint when the first one fails",
  }),
} satisfies Group;
