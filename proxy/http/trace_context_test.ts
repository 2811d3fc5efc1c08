import assert from "node:assert/strict";
import { asciiBytes } from "./fields.ts";
import { isSampled, isTraceparent, isTracestate } from "./trace_context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

Deno.test("a traceparent has a version, a trace, a parent and flags", () => {
  const cases: readonly [value: string, isGood: boolean][] = [
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, true],
    [`00-${TRACE}-${SPAN}-ff`, true],
    [`01-${TRACE}-${SPAN}-01`, true],
    [`fe-${TRACE}-${SPAN}-01-and-more`, true],
    [`01-${TRACE}-${SPAN}-01and more`, false],
    [`00-${TRACE}-${SPAN}-01-and-more`, false],
    [`ff-${TRACE}-${SPAN}-01`, false],
    [`0g-${TRACE}-${SPAN}-01`, false],
    [`00-${TRACE}-${SPAN}-0g`, false],
    [`00-${TRACE.toUpperCase()}-${SPAN}-01`, false],
    [`00-${"0".repeat(32)}-${SPAN}-01`, false],
    [`00-${TRACE}-${"0".repeat(16)}-01`, false],
    [`00-${TRACE}-${SPAN}`, false],
    [`00-${TRACE}-${SPAN}-1`, false],
    [`00_${TRACE}-${SPAN}-01`, false],
    [`00-${TRACE}_${SPAN}-01`, false],
    [`00-${TRACE}-${SPAN}_01`, false],
    ["", false],
    ["x".repeat(4096), false],
  ];
  for (const [value, isGood] of cases) {
    const bytes = asciiBytes(`<${value}>`);
    assert.equal(isTraceparent(bytes, 1, bytes.length - 1), isGood, value);
  }
});

Deno.test("the lowest bit of the flags says whether a trace is sampled", () => {
  for (let flags = 0; flags < 256; flags++) {
    const bytes = asciiBytes(flags.toString(16).padStart(2, "0"));
    assert.equal(isSampled(bytes, 0), (flags & 1) === 1, String(flags));
  }
});

Deno.test("a tracestate has up to 32 members with keys of their own, and 512 bytes", () => {
  const members = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=v`).join(",");
  const cases: readonly [value: string, isGood: boolean][] = [
    ["a=1", true],
    ["a=1,b=2", true],
    ["a=1 ,\t b=2,,", true],
    ["tenant@system=x y", true],
    ["0a/b*c_d-e=!~", true],
    [members(32), true],
    [members(33), false],
    [`a=${"x".repeat(256)}`, true],
    [`a=${"x".repeat(257)}`, false],
    [`a=${"x".repeat(250)},b=${"x".repeat(256)}`, true],
    [`a=${"x".repeat(254)},b=${"x".repeat(254)}`, false],
    ["a=1,a=2", false],
    ["a", false],
    ["a=", false],
    ["=1", false],
    ["A=1", false],
    ["a=b=c", false],
    ["a=\x07", false],
    ["a=\xe9", false],
  ];
  for (const [value, isGood] of cases) assert.equal(isTracestate(value), isGood, value);
});
