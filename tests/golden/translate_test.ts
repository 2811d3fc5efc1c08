/** The golden files of `translate`; see `translate_case.ts` for their form. */
import assert from "node:assert/strict";
import type { Problem } from "../../shared/problem.ts";
import { parseSnapshot } from "../../shared/snapshot/parse.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import {
  caseNames,
  formatTranslation,
  outputFile,
  outputNames,
  readCase,
  runAgain,
  runCase,
} from "./translate_case.ts";

/** What programs decide by is what users read. */
function assertFacts(problems: readonly Problem[]): void {
  for (const { facts, message } of problems) {
    if (facts?.status !== undefined) assert.ok(message.endsWith(`requests get ${facts.status}`));
    if (facts?.isSecretMissing) assert.match(message, /\bthere is no Secret /);
  }
}

const REMEDY = "deno task golden:update writes the files anew";

for (const name of caseNames()) {
  Deno.test(`translate: ${name.replaceAll("-", " ")}`, () => {
    const input = readCase(name);
    const { showsClaims } = input;
    const translation = runCase(input);
    assertFacts(translation.problems);
    const text = formatTranslation(translation, showsClaims);
    assert.equal(text, Deno.readTextFileSync(outputFile(name)), REMEDY);

    const reversed = runCase({ ...input, objects: input.objects.toReversed() });
    assert.equal(
      formatTranslation(reversed, showsClaims),
      text,
      "the order of objects changes the result",
    );

    const { claims } = runCase(input);
    const recorded = runCase({ ...input, options: { ...input.options, claims } });
    assert.equal(
      formatTranslation(recorded, showsClaims),
      text,
      "recording the claims changes the result",
    );

    const again = runAgain(input);
    assert.equal(
      formatTranslation(again, showsClaims).split("\nproblems:")[0],
      text.split("\nproblems:")[0],
      "publishing the snapshot changes the next one",
    );

    const published = serialiseSnapshot(runCase(input).snapshot, { revealKeys: true });
    assert.deepEqual(parseSnapshot(published).problems, [], "the proxy refuses the snapshot");

    const later = runCase({ ...input, now: Date.parse("2500-01-01T00:00:00Z") });
    assert.equal(
      JSON.stringify(later.snapshot),
      JSON.stringify(runCase(input).snapshot),
      "time changes the snapshot",
    );
  });
}

Deno.test("every golden output has its input", () => {
  assert.deepEqual(outputNames(), caseNames(), REMEDY);
});
