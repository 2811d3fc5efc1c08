/** The JSON of `check`. In: nothing. Out: its schema, from which `docs/schemas/check.json` is written. */
import Type from "typebox";
import { closed, nullable, TEXT, VERSION } from "../json_parts.ts";

const COUNT = Type.Integer({ minimum: 0 });

const RESULT = closed({
  id: Type.String({ description: "Stable; several results may have the same." }),
  level: Type.Enum(["ok", "warning", "failed", "skipped"]),
  message: TEXT,
  remedy: nullable(TEXT, "Null where nothing is to be done."),
});

export const CHECK_GROUP = closed({
  id: Type.String({ description: "Stable: workload." }),
  title: TEXT,
  results: Type.Array(RESULT),
});

export const CHECK_JSON = closed({
  v: VERSION,
  server: Type.String({ description: "Address of the API server." }),
  groups: Type.Array(CHECK_GROUP, {
    description: "One group alone where the API server does not answer.",
  }),
  counts: closed(
    { ok: COUNT, warning: COUNT, failed: COUNT, skipped: COUNT },
    "Results of each level; with a failed one the exit code is 1.",
  ),
}, "pingress check -o json");
