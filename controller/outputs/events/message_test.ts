import assert from "node:assert/strict";
import type { ObjectRef, Problem } from "../../../shared/problem.ts";
import { caseNames, readCase, runCase } from "../../../tests/golden/translate_case.ts";
import { eventMessage, eventName } from "./message.ts";

const WEB: ObjectRef = { kind: "Ingress", namespace: "shop", name: "web" };
const PROBLEM: Problem = {
  object: WEB,
  field: "spec.rules[0].http.paths[0].backend.service.name",
  reason: "ServiceNotFound",
  message: "there is no Service api in namespace shop, so requests get 503",
  remedy: "Create it",
  severity: "error",
};

const bytes = (text: string) => new TextEncoder().encode(text).length;

Deno.test("an Event has the place, the problem and the remedy", () => {
  assert.equal(
    eventMessage([PROBLEM]),
    "spec.rules[0].http.paths[0].backend.service.name: " +
      "there is no Service api in namespace shop, so requests get 503. Create it.",
  );
  assert.equal(
    eventMessage([{ ...PROBLEM, field: "", message: "it is empty" }]),
    "it is empty. Create it.",
  );
});

Deno.test("an Event is one line, and its remedy a sentence", () => {
  const odd = { ...PROBLEM, field: "", message: "pod a:\n\x1b[31m no room", remedy: "make room" };
  assert.equal(eventMessage([odd]), "pod a: [31m no room. Make room.");
});

Deno.test("several problems with one reason share an Event that counts them", () => {
  assert.ok(eventMessage([PROBLEM, PROBLEM, PROBLEM]).endsWith("Create it. (and 2 more like it)"));
});

Deno.test("a long message is truncated at 1,024 bytes, between characters, and still has the count", () => {
  for (const filling of ["x", "ü", "汉", "😀"]) {
    const long = { ...PROBLEM, message: filling.repeat(2000) };
    const text = eventMessage([long, long]);
    assert.ok(bytes(text) <= 1024 && bytes(text) > 1015, `${filling}: ${bytes(text)}`);
    assert.ok(text.endsWith("… (and 1 more like it)"));
    assert.ok(text.isWellFormed());
  }
});

Deno.test("an Event's name is the same in every replica, and differs by object and reason", () => {
  const name = eventName(WEB, "u1", "A");
  assert.match(name, /^web\.[0-9a-f]{16}$/);
  assert.equal(eventName({ ...WEB }, "u1", "A"), name);
  const others = [
    eventName(WEB, "u2", "A"),
    eventName(WEB, "u1", "B"),
    eventName({ ...WEB, kind: "Service" }, "u1", "A"),
  ];
  assert.equal(new Set([name, ...others]).size, 4);
});

Deno.test("an Event about an object with a long name has a valid name", () => {
  for (const name of ["a".repeat(253), `${"a".repeat(235)}.b${"c".repeat(16)}`]) {
    const text = eventName({ ...WEB, name }, "u1", "A");
    assert.ok(text.length <= 253);
    assert.match(text, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
  }
});

Deno.test("no Event of a golden case contains a key, a certificate or a value of a Secret", () => {
  let seen = 0;
  for (const name of caseNames()) {
    const input = readCase(name);
    const secrets = secretValues(input.objects);
    for (const problem of runCase(input).problems) {
      const text = eventMessage([problem]);
      assert.doesNotMatch(text, /-----BEGIN|[A-Za-z0-9+/]{64}/, name);
      for (const value of secrets) assert.ok(!text.includes(value), `${name}: ${text}`);
      seen++;
    }
  }
  assert.ok(seen > 100, String(seen));
});

/** Values that are long enough not to stand in a message by chance, as written and decoded. */
function secretValues(objects: readonly unknown[]): string[] {
  return objects.flatMap((object) => {
    const { kind, data, stringData } = object as Record<
      string,
      Record<string, unknown> | undefined
    >;
    if (String(kind) !== "Secret") return [];
    const decoded = Object.values(data ?? {}).map((value) => {
      try {
        return atob(String(value).replace(/\s/g, ""));
      } catch {
        return "";
      }
    });
    return [...Object.values(data ?? {}), ...Object.values(stringData ?? {}), ...decoded]
      .map(String).filter((value) => value.length > 12);
  });
}
