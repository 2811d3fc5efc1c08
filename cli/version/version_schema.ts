/** The JSON of `version`. In: nothing. Out: its schema, from which `docs/schemas/version.json` is written. */
import Type from "typebox";
import { closed, TEXT, VERSION } from "../json_parts.ts";

export const VERSION_JSON = closed(
  { v: VERSION, version: Type.String({ description: "Of Pingress." }), deno: TEXT, v8: TEXT },
  "pingress version -o json",
);
