import assert from "node:assert/strict";
import { literalStart } from "./literal_start.ts";

Deno.test("a pattern's literal prefix is the prefix of every match", () => {
  const starts: Readonly<Record<string, string>> = {
    "/api/(v1": "/api/",
    "^/api/[": "/api/",
    "/ab*(": "/a",
    "/ab?(": "/a",
    "/ab{2}(": "/a",
    "/ab+(": "/ab",
    "/a|/b(": "",
    "(": "",
    "/a\\d(": "/a",
    "/a": "/a",
  };
  for (const [pattern, start] of Object.entries(starts)) {
    assert.equal(literalStart(pattern), start, pattern);
  }
});
