/** The JSON of `diff`. In: nothing. Out: its schema, from which `docs/schemas/diff.json` is written. */
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

const ROUTE = closed({
  id: TEXT,
  host: TEXT,
  match: Type.Unsafe<Readonly<Record<string, unknown>>>(
    Type.Object({}, { description: "Path, method, headers and query, as in a snapshot." }),
  ),
  backends: Type.Array(BACKEND),
  reply: REPLY,
  origin: ORIGIN,
});

const ANSWER = Type.Union([
  closed({
    kind: Type.Literal("error"),
    route: nullable(TEXT),
    status: Type.Integer(),
    reason: TEXT,
  }),
  closed({ kind: Type.Literal("redirect"), route: nullable(TEXT) }),
  closed({ kind: Type.Literal("forward"), route: nullable(TEXT), upstreams: TEXTS }),
]);

export const DIFF_JSON = closed({
  v: VERSION,
  before: TEXT,
  after: TEXT,
  isComplete: Type.Boolean({ description: "Whether all of the state before could be read." }),
  notes: Type.Array(TEXT, { description: "What could not be read." }),
  lost: Type.Array(
    closed({ route: ROUTE, now: ANSWER }),
    { description: "Routes whose requests no longer reach their backends: the exit code is 1." },
  ),
  opened: Type.Array(
    closed({
      route: ROUTE,
      dropped: Type.Array(TEXT, { description: "Checks that are gone; empty for a closed path." }),
      isOpenToAll: Type.Boolean(),
    }),
    { description: "Paths that forward what they rejected before: the exit code is 1." },
  ),
  routes: Type.Array(closed({
    kind: Type.Enum(["added", "removed", "changed"]),
    before: nullable(ROUTE),
    after: nullable(ROUTE),
    aspects: TEXTS,
  })),
  certificates: Type.Array(closed({
    kind: Type.Enum(["added", "removed", "changed"]),
    origin: ORIGIN,
    hostsBefore: TEXTS,
    hostsAfter: TEXTS,
  })),
  settings: Type.Array(closed({ kind: TEXT, name: TEXT })),
  problems: closed({ new: Type.Array(PROBLEM), mended: Type.Array(PROBLEM) }),
}, "pingress diff -o json");
