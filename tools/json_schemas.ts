/**
 * Schemas of what commands print with `-o json`. In: their schemas in code. Out: the text of each file below
 * `docs/schemas`.
 */
import type { TSchema } from "typebox";
import { CHECK_JSON } from "../cli/check/check_schema.ts";
import { CODES_JSON } from "../cli/codes/codes_schema.ts";
import { COMPLETION_JSON } from "../cli/completion/completion_schema.ts";
import { DEV_JSON } from "../cli/dev/dev_schema.ts";
import { DIFF_JSON } from "../cli/diff/diff_schema.ts";
import { EXPLAIN_JSON } from "../cli/explain/explanation_schema.ts";
import { LINT_JSON } from "../cli/lint/lint_schema.ts";
import { STATUS_JSON } from "../cli/status/status_schema.ts";
import { VERSION_JSON } from "../cli/version/version_schema.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

const SCHEMAS: Readonly<Record<string, TSchema>> = {
  check: CHECK_JSON,
  codes: CODES_JSON,
  completion: COMPLETION_JSON,
  dev: DEV_JSON,
  diff: DIFF_JSON,
  explain: EXPLAIN_JSON,
  lint: LINT_JSON,
  status: STATUS_JSON,
  version: VERSION_JSON,
};

/** The file of each command, relative to the repository, with its text. */
export function jsonSchemas(): readonly (readonly [file: string, text: string])[] {
  return Object.entries(SCHEMAS).map(([command, schema]) => {
    const text = JSON.stringify({ $schema: DIALECT, ...schema }, open, 2);
    return [`docs/schemas/${command}.json`, `${text}\n`] as const;
  });
}

/** Readers must take fields that a later version adds; the tests must not. */
function open(key: string, value: unknown): unknown {
  return key === "additionalProperties" ? undefined : value;
}
