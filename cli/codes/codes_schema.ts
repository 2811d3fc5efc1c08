/** The JSON of `codes`. In: nothing. Out: its schema, from which `docs/schemas/codes.json` is written. */
import Type from "typebox";
import { closed, nullable, TEXT, VERSION } from "../json_parts.ts";

const CODE = closed({
  code: Type.String({ description: "ServiceNotFound, no_endpoint." }),
  section: Type.String({ description: "Title of its section in docs/codes.md." }),
  kinds: Type.Array(TEXT, {
    description: "Of the objects that have it; empty for a response of a proxy.",
  }),
  severities: Type.Array(Type.Enum(["error", "warning", "info"]), {
    description: "As the controller reports it; empty for what only files or responses have.",
  }),
  severityInFiles: nullable(
    Type.Enum(["error", "warning", "info"]),
    "Of dev, explain and diff, where it is another one.",
  ),
  status: nullable(Type.Integer(), "Of the response of a proxy; null for a problem."),
  side: nullable(
    Type.Enum(["downstream", "upstream", "internal"]),
    "Who causes the response of a proxy; null for a problem.",
  ),
  meaning: Type.String({ description: "Markdown, with links relative to docs/." }),
  example: nullable(TEXT, "YAML with the mistake, or a sentence."),
  remedy: TEXT,
});

export const CODES_JSON = closed(
  { v: VERSION, codes: Type.Array(CODE) },
  "pingress codes -o json",
);
