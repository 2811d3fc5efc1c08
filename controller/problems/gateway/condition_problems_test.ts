import assert from "node:assert/strict";
import { readIdentity } from "../../base/identity.ts";
import type { GatewayStatus } from "../../translate/gateway/gateway_translation.ts";
import {
  type Condition,
  falseCondition,
  trueCondition,
} from "../../translate/gateway/objects/condition.ts";
import { readInfrastructure } from "../../translate/gateway/objects/infrastructure.ts";
import { SETTINGS } from "../../../tests/support/gateway_plan.ts";
import { resolvedRefsOf } from "../../translate/gateway/objects/http_route.ts";
import { programmedProblems, translationProblems } from "./condition_problems.ts";

const ACCEPTED = trueCondition("Accepted");
const REFUSED = falseCondition("Accepted", "UnsupportedProtocol", "TCP is not supported.");

/** A Gateway with two listeners, the second of which has this condition. */
function gateway(second: Condition): GatewayStatus {
  const listener = (name: string, condition: Condition) => ({
    ...{ name, supportedKinds: [], attachedRoutes: 0 },
    conditions: [condition],
  });
  return {
    identity: readIdentity("Gateway", { metadata: { namespace: "shop", name: "web" } })!,
    ...{ uid: "", generation: 1, className: "pingress", ports: [] },
    infrastructure: readInfrastructure({}),
    address: "own",
    service: SETTINGS,
    conditions: [ACCEPTED],
    listeners: [listener("a", ACCEPTED), listener("b", second)],
  };
}

function programmed(reason: string, message: string): Condition {
  return falseCondition("Programmed", reason, message);
}

const WAITS = programmed("Pending", "no proxy is ready.");
const BUSY = programmed("PortUnavailable", "pod a: EADDRINUSE");

/** What is programmed: of the Gateway, and of its second listener; and the problems. */
const CASES: readonly (readonly [
  name: string,
  own: Condition | null,
  second: Condition | null,
  problems: readonly string[],
])[] = [
  ["programmed", trueCondition("Programmed"), trueCondition("Programmed"), []],
  ["not decided", null, null, []],
  [
    "not known",
    { ...trueCondition("Programmed", "Pending", "published"), status: "Unknown" },
    null,
    [],
  ],
  ["waiting, as its listeners are", WAITS, WAITS, [" Pending: no proxy is ready"]],
  [
    "without a port in a proxy",
    programmed("ListenersNotValid", "not every proxy could open the port of b."),
    BUSY,
    ["spec.listeners[1] PortUnavailable: pod a: EADDRINUSE"],
  ],
  [
    "not programmed, as a listener is refused",
    trueCondition("Programmed"),
    programmed("Invalid", REFUSED.message),
    [],
  ],
];

Deno.test("an instruction to delete in a condition is the remedy of its problem", () => {
  const message = "Service shop/web-pingress exists, so it is not changed. Delete or rename one.";
  const [problem] = programmedProblems(gateway(ACCEPTED), {
    gateway: programmed("Pending", message),
    listeners: new Map(),
  });
  assert.equal(problem.remedy, "Delete or rename one");
});

for (const [name, own, second, problems] of CASES) {
  Deno.test(`problems of a Gateway that is ${name}`, () => {
    const status = gateway(second?.reason === "Invalid" ? REFUSED : ACCEPTED);
    const listeners = new Map([["a", null], ["b", second]]);
    const shown = programmedProblems(status, { gateway: own, listeners })
      .map(({ field, reason, message }) => `${field} ${reason}: ${message}`);
    assert.deepEqual(shown, problems);
  });
}

/** What is wrong with an HTTPRoute of so many parents, all of which have this condition. */
function routeProblems(parents: number, condition: Condition) {
  return translationProblems({
    ...{ classes: [], gateways: [], listenerSets: [] },
    routes: [{
      identity: readIdentity("HTTPRoute", { metadata: { namespace: "shop", name: "web" } })!,
      generation: 1,
      parents: Array.from({ length: parents }, (_, index) => ({
        ...{ parentRef: {}, index },
        conditions: [ACCEPTED, condition],
      })),
    }],
  });
}

function missingBackends(count: number): Condition {
  return resolvedRefsOf([Array.from({ length: count }, (_, i) => ({
    fault: falseCondition(
      "ResolvedRefs",
      "BackendNotFound",
      `spec.rules[0].backendRefs[${i}]: Service shop/x${i} does not exist.`,
    ),
    ...{ upstream: "", refusal: null, weight: 1 },
  }))]);
}

/** How many backends are missing, and what is said after those that are named. */
const MISSING: readonly (readonly [backends: number, problems: number, last: string])[] = [
  [1, 1, "spec.rules[0].backendRefs[0] Service shop/x0 does not exist"],
  [16, 16, "spec.rules[0].backendRefs[15] Service shop/x15 does not exist"],
  [256, 17, "spec.rules 240 more backends are not served: Correct them, too"],
];

for (const [backends, count, last] of MISSING) {
  Deno.test(`${backends} missing backends of a route with 32 parents are ${count} problems`, () => {
    const problems = routeProblems(32, missingBackends(backends));
    assert.equal(problems.length, count);
    const { field, message, remedy } = problems.at(-1)!;
    assert.equal(`${field} ${message}${last.includes(":") ? `: ${remedy}` : ""}`, last);
  });
}

Deno.test("problems of a route's backends are made once, however many parents it has", () => {
  const { each, ...condition } = missingBackends(2);
  let reads = 0;
  const counted = Object.defineProperty({ ...condition }, "each", { get: () => (reads++, each) });
  assert.equal(routeProblems(32, counted).length, 2);
  assert.equal(reads, 1);
});
