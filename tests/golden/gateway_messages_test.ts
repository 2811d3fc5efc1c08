/** Each condition that says something is not served names the field, and what to do. */
import assert from "node:assert/strict";
import { IMPERATIVE, SENTENCES } from "../../controller/problems/gateway/condition_problems.ts";
import { GATEWAY_REASONS } from "../../controller/problems/gateway/reasons.ts";
import type { Condition } from "../../controller/translate/gateway/objects/condition.ts";
import { gatewayCaseNames, readGatewayCase, runGatewayCase } from "./gateway_case.ts";

/** A path of the object, or of the parameters that it names. */
const FIELD = /\bspec\.\w|\bkey "?[\w.-]+|^ConfigMap \S+ has the unknown key /;

/** Of the whole object: no field is wrong. */
const WITHOUT_FIELD: ReadonlySet<string> = new Set(["ObjectTooLarge"]);

/** Its listeners say what is wrong. */
const SAID_ELSEWHERE = "ListenersNotValid";

function wrongOnes(name: string): readonly Condition[] {
  const { gateway } = runGatewayCase(readGatewayCase(name));
  const { classes, gateways, routes, listenerSets } = gateway!;
  const all = [
    ...classes.flatMap(({ conditions }) => conditions),
    ...gateways.flatMap(({ conditions, listeners }) => [
      ...conditions,
      ...listeners.flatMap(({ conditions }) => conditions),
    ]),
    ...routes.flatMap(({ parents }) => parents.flatMap(({ conditions }) => conditions)),
    ...listenerSets.flatMap(({ conditions }) => conditions),
  ];
  return all.filter(({ type, status, message, reason }) =>
    reason !== SAID_ELSEWHERE && type !== "Conflicted" &&
    (status === "False" || type === "PartiallyInvalid" ||
      (type === "ResolvedRefs" && message !== ""))
  ).flatMap((condition) => condition.each ?? [condition]);
}

const conditions = new Map(
  gatewayCaseNames().flatMap((name) =>
    wrongOnes(name).map((condition) => [condition.message, { name, ...condition }] as const)
  ),
);

Deno.test("every message of a condition names the field and the remedy", () => {
  assert.ok(conditions.size > 60, `${conditions.size} messages`);
  const faulty = [...conditions.values()].flatMap(({ name, reason, message }) => {
    const text = message.replace(/^Dropped Rule: /, "");
    const sentences = text.split(SENTENCES);
    const lacking = [
      ...(FIELD.test(text) || WITHOUT_FIELD.has(reason) ? [] : ["field"]),
      ...(sentences.some((sentence) => IMPERATIVE.test(sentence)) ? [] : ["remedy"]),
    ];
    return lacking.length === 0 ? [] : [`${name}: ${reason} lacks ${lacking}: ${message}`];
  });
  assert.deepEqual(faulty, []);
});

Deno.test("messages of all reasons that objects decide are looked at", () => {
  const seen = new Set(Array.from(conditions.values(), ({ reason }) => reason));
  const decided = GATEWAY_REASONS.filter(({ conditions }) =>
    conditions.some((type) => type !== "Programmed")
  ).map(({ reason }) => reason).filter((reason) => reason !== SAID_ELSEWHERE);
  assert.deepEqual(decided.filter((reason) => !seen.has(reason)), []);
});
