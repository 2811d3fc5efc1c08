/** The JSON of `completion`. In: nothing. Out: its schema, from which `docs/schemas/completion.json` is written. */
import Type from "typebox";
import { closed, nullable, TEXT, TEXTS, VERSION } from "../json_parts.ts";

const VALUES = Type.Union([TEXTS, Type.Literal("files"), Type.Literal("any"), Type.Null()], {
  description: "Words; files; any for what is not completed; null for none.",
});

export const COMPLETION_JSON = closed({
  v: VERSION,
  commands: Type.Array(closed({
    name: TEXT,
    summary: TEXT,
    argument: VALUES,
    flags: Type.Array(closed({
      name: Type.String({ description: "Without dashes." }),
      short: nullable(TEXT, "The letter of the short flag."),
      help: TEXT,
      values: VALUES,
      takesFiles: Type.Boolean({ description: "Whether a file fits besides the words." }),
      isBare: Type.Boolean({ description: "Whether a value can only stand behind =." }),
      isRepeatable: Type.Boolean(),
    })),
  })),
}, "pingress completion -o json");
