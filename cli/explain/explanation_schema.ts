/** The JSON of `explain`. In: nothing. Out: its schema, from which `docs/schemas/explain.json` is written. */
import Type from "typebox";
import {
  BACKEND,
  closed,
  nullable,
  ORIGIN,
  PROBLEM,
  REPLY,
  TEXT,
  TEXTS,
  VERSION,
} from "../json_parts.ts";

const STATUS = Type.Integer({ minimum: 300, maximum: 599 });

const ANSWER = Type.Union([
  closed({ kind: Type.Literal("backend") }, "The response of a backend."),
  closed({ kind: Type.Literal("redirect"), status: STATUS, location: TEXT }),
  closed(
    { kind: Type.Literal("error"), status: STATUS, reason: TEXT },
    "An error of the proxy's own: the exit code is 1.",
  ),
], {
  description: "What a client gets that the filters admit, over HTTPS if it is redirected there.",
});

const LISTENER = closed({
  gateway: Type.String({ description: "NAMESPACE/NAME." }),
  name: TEXT,
  port: Type.Integer({ description: "The public one." }),
  hostname: nullable(TEXT),
  origin: ORIGIN,
  localUrl: nullable(TEXT, "Where dev serves it; null outside of a folder."),
  service: nullable(closed({ namespace: TEXT, name: TEXT, type: TEXT }), "With its own address."),
  others: Type.Array(closed({ name: TEXT, because: TEXT })),
  isTakenByIngresses: Type.Boolean(),
}, "The listener of a Gateway that takes the URL.");

const OWNER = closed({
  namespace: nullable(TEXT, "Null for none."),
  pattern: nullable(TEXT, "The host or wildcard that is owned."),
  because: TEXT,
  sharers: TEXTS,
  guests: TEXTS,
}, "The namespace that owns the host.");

const HTTPS_REDIRECT = closed({
  location: nullable(TEXT, "Null where plain HTTP stays, by a setting."),
  because: TEXT,
  by: Type.Enum(["proxies", "dev"]),
  isInDev: nullable(Type.Boolean(), "Whether dev redirects as well; null outside of a folder."),
  isAfterRoute: Type.Boolean({ description: "Whether a redirect of the route comes first." }),
}, "The redirect of plain HTTP to HTTPS.");

const ROUTE = closed({
  id: nullable(TEXT, "Null for the default backend."),
  origin: nullable(ORIGIN),
  sharedBy: Type.Array(closed({ gateway: TEXT, listener: TEXT }), {
    description: "Listeners of Gateways that share the address of Ingresses.",
  }),
  backends: Type.Array(BACKEND),
  reply: REPLY,
  fault: nullable(TEXT, "Why its requests get 500, as its match cannot be compiled."),
});

const FILTER = closed({
  kind: Type.String({ description: "access, rewrite, request-headers, …" }),
  upstream: nullable(TEXT, "The upstream whose requests it is for; null for all of the route."),
  text: TEXT,
  requires: Type.Array(TEXT, {
    description: "What a client needs to pass: deny-list, allow-list, basic-auth, external-auth.",
  }),
});

const LOSER = closed({
  route: TEXT,
  kind: Type.Enum(["lost", "left-out"]),
  because: TEXT,
  isMatch: Type.Boolean({ description: "Whether it would get the request without the winner." }),
  origin: ORIGIN,
});

const LEAF = Type.Union([
  closed({
    names: TEXTS,
    issuer: TEXT,
    isSelfSigned: Type.Boolean(),
    expires: Type.String({ description: "RFC 3339." }),
    daysLeft: Type.Integer({ description: "Negative after the last day." }),
  }),
  closed({ unreadable: TEXT }),
]);

const CERTIFICATE = closed({
  origin: nullable(ORIGIN, "Null where none is shown."),
  because: TEXT,
  isKnown: Type.Boolean({
    description: "False where certificates could not be read: because says why.",
  }),
  leaf: nullable(LEAF),
  inDev: nullable(TEXT, "What dev does without a certificate."),
});

const UPSTREAM = closed({
  id: TEXT,
  protocol: nullable(Type.Enum(["http", "https", "h2c", "h2"])),
  endpoints: Type.Array(closed({ address: TEXT, isName: Type.Boolean() })),
  unused: Type.Array(closed({ address: TEXT, because: TEXT })),
  inDev: nullable(TEXT, "Where dev sends requests; null outside of a folder."),
});

export const EXPLANATION = closed({
  url: TEXT,
  request: closed({
    scheme: Type.Enum(["http", "https"]),
    method: TEXT,
    headers: Type.Array(closed({ name: TEXT, value: TEXT })),
    host: TEXT,
    path: TEXT,
    matchedPath: nullable(TEXT, "As routes are compared with it; null where it is refused."),
    aliasOf: nullable(TEXT),
  }),
  answer: ANSWER,
  listener: nullable(LISTENER),
  refusals: Type.Array(closed({ gateway: TEXT, reason: TEXT })),
  otherGateways: TEXTS,
  elsewhere: Type.Array(
    closed({
      gateway: Type.String({ description: "NAMESPACE/NAME." }),
      scheme: Type.Enum(["http", "https"]),
      port: Type.Integer({ description: "The public one." }),
    }),
    { description: "Listeners for the host with another scheme or port." },
  ),
  owner: nullable(OWNER),
  httpsRedirect: nullable(HTTPS_REDIRECT),
  route: nullable(ROUTE, "Null where no route takes the request."),
  filters: nullable(Type.Array(FILTER), "In the order in which a request meets them."),
  losers: Type.Array(LOSER),
  certificates: Type.Array(CERTIFICATE),
  upstreams: Type.Array(UPSTREAM),
  problems: Type.Array(PROBLEM),
  notes: Type.Array(TEXT, { description: "What could not be read." }),
});

export const EXPLAIN_JSON = closed({
  v: VERSION,
  explanations: Type.Array(EXPLANATION, { description: "One for each URL." }),
}, "pingress explain -o json");
