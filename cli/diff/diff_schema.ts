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

const VALUE = closed({
  name: TEXT,
  type: Type.Enum(["Exact", "Regex"]),
  value: Type.String({ description: "A regular expression must match the whole value." }),
});

const MATCH = closed({
  path: closed({
    type: Type.Enum(["Exact", "Prefix", "StringPrefix", "Regex"], {
      description: "Prefix: by whole segments, as of an Ingress. StringPrefix: by characters.",
    }),
    value: TEXT,
    written: Type.Optional(
      Type.String({ description: "As in the manifest, where that is another text." }),
    ),
    decoded: Type.Optional(
      Type.Literal(true, { description: "It is compared with the decoded path." }),
    ),
    slash: Type.Optional(
      Type.Enum(["absolute", "relative"], {
        description: "The path without a slash at its end is redirected to the one with it: to a " +
          "URL, or to a path.",
      }),
    ),
  }),
  method: Type.Optional(TEXT),
  headers: Type.Optional(Type.Array(VALUE)),
  query: Type.Optional(Type.Array(VALUE)),
}, "What a request must have; all of it.");

export const ROUTE = closed({
  id: TEXT,
  host: TEXT,
  match: MATCH,
  backends: Type.Array(BACKEND),
  reply: REPLY,
  origin: ORIGIN,
});

const KIND = Type.Enum(["added", "removed", "changed"]);

export const ROUTE_CHANGE = closed({
  kind: KIND,
  before: nullable(ROUTE),
  after: nullable(ROUTE),
  aspects: TEXTS,
  filters: closed(
    { removed: TEXTS, added: TEXTS },
    "What filters no longer do, and what they do now.",
  ),
});

export const CERTIFICATE_CHANGE = closed({
  kind: KIND,
  origin: ORIGIN,
  hostsBefore: TEXTS,
  hostsAfter: TEXTS,
});

export const SETTING_CHANGE = closed({ kind: TEXT, name: TEXT });

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
    closed({ route: nullable(ROUTE, "Null for the default backend."), now: ANSWER }),
    { description: "Routes whose requests no longer reach their backends: the exit code is 1." },
  ),
  opened: Type.Array(
    closed({
      route: nullable(ROUTE, "Null for the default backend."),
      dropped: Type.Array(TEXT, { description: "Checks that are gone; empty for a closed path." }),
      isOpenToAll: Type.Boolean(),
    }),
    { description: "Paths that forward what they rejected before: the exit code is 1." },
  ),
  routes: Type.Array(ROUTE_CHANGE),
  certificates: Type.Array(CERTIFICATE_CHANGE),
  settings: Type.Array(SETTING_CHANGE),
  problems: closed({ new: Type.Array(PROBLEM), mended: Type.Array(PROBLEM) }),
}, "pingress diff -o json");
