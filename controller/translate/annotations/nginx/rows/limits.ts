/** Annotations that limit clients: requests, connections, rates and sizes of bodies. */
import { differs, flag, type Group, NOT_YET, row } from "./row.ts";
import { int, NETWORKS, SIZE } from "./value.ts";

const LIMIT = { scope: "path", invalid: "close", protects: true, verdict: NOT_YET } as const;
/** The limit that ingress-nginx has without the annotation: a larger one only loosens it. */
const NGINX_BODY_LIMIT = 2 ** 20;

const COUNTED: readonly string[] = ["limit-connections", "limit-rps", "limit-rpm"];

export const LIMITS = {
  "limit-connections": row({
    ...LIMIT,
    risk: "Low",
    value: int(0),
    verdict: flag("The proxy's --connections-per-address limits those of one client"),
    does: "limits the requests in progress of one client",
  }),
  "limit-rps": row({
    ...LIMIT,
    risk: "Low",
    value: int(0),
    does: "limits the requests per second of one client",
  }),
  "limit-rpm": row({
    ...LIMIT,
    risk: "Low",
    value: int(0),
    does: "limits the requests per minute of one client",
  }),
  "limit-burst-multiplier": row({
    ...LIMIT,
    risk: "Low",
    value: int(1),
    beside: COUNTED,
    does: "says how many times the limit may pass at once; 5 by default",
  }),
  "limit-allowlist": row({
    ...LIMIT,
    aliases: ["limit-whitelist"],
    risk: "Low",
    value: NETWORKS,
    beside: COUNTED,
    does: "exempts clients of these networks from the limits",
  }),
  "limit-rate": row({
    ...LIMIT,
    risk: "Low",
    value: int(0),
    does: "limits the KiB per second of one response",
  }),
  "limit-rate-after": row({
    ...LIMIT,
    risk: "Low",
    value: int(0),
    beside: ["limit-rate"],
    does: "exempts the first KiB of each response from limit-rate",
  }),
  "proxy-body-size": row({
    ...LIMIT,
    risk: "Medium",
    value: SIZE,
    verdict: differs("a lower --body-limit of the proxy is the limit"),
    isHarmless: (bytes) => bytes === 0 || bytes >= NGINX_BODY_LIMIT,
    does: "limits the size of request bodies, 0 for no limit; larger ones get 413",
  }),
} satisfies Group;
