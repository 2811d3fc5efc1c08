/** Parts that the JSON of several commands has. In: nothing. Out: schemas, each closed, with what fields mean. */
import Type, { type TSchema } from "typebox";

export function closed<P extends Record<string, TSchema>>(properties: P, description?: string) {
  return Type.Object(properties, {
    additionalProperties: false,
    ...(description === undefined ? {} : { description }),
  });
}

export function nullable<S extends TSchema>(schema: S, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

export const TEXT = Type.String();
export const TEXTS = Type.Array(Type.String());

/** `v` of every output: fields are added to a version, none is removed or changes its meaning. */
export const VERSION = Type.Literal(1, { description: "The version of this format." });

export const POSITION = closed({
  file: TEXT,
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1 }),
}, "Where it stands in the files.");

export const AT = nullable(POSITION, "Null outside of files.");

export const OBJECT = closed({
  kind: TEXT,
  namespace: Type.String({ description: "Empty for cluster-wide kinds." }),
  name: TEXT,
}, "An object of Kubernetes.");

export const ORIGIN = closed({
  kind: TEXT,
  namespace: TEXT,
  name: TEXT,
  field: Type.String({ description: "JSON path in the object." }),
  at: AT,
}, "A field of an object of Kubernetes.");

export const BACKEND = closed({
  upstream: Type.String({ description: "NAMESPACE/SERVICE:PORT." }),
  share: Type.Number({ minimum: 0, maximum: 1, description: "Of all requests." }),
  fault: nullable(TEXT, "Why its requests get 500."),
});

export const REPLY = nullable(
  closed({ status: Type.Integer(), reason: TEXT }),
  "The error of a route that cannot be served.",
);

export const PROBLEM = closed({
  object: nullable(OBJECT, "Null where no object could be read."),
  field: Type.String({ description: "JSON path in the object; empty for all of it." }),
  reason: Type.String({ description: "The code of the problem: ServiceNotFound." }),
  message: TEXT,
  remedy: TEXT,
  severity: Type.Enum(["error", "warning", "info"]),
  at: AT,
  excerpt: nullable(
    closed({
      line: Type.Integer({ minimum: 1 }),
      text: Type.String({ description: "The line, without a comment." }),
      column: Type.Integer({ minimum: 1, description: "Of the first character that is meant." }),
      length: Type.Integer({ minimum: 1 }),
    }),
    "The line of the place; null in a cluster, and for one that may hold a credential.",
  ),
});
