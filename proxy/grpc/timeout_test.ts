import assert from "node:assert/strict";
import { fieldsOf } from "../http/fields.ts";
import { parseGrpcTimeout, readGrpcTimeout } from "./timeout.ts";

const TIMES: readonly [string, number][] = [
  ["1H", 3_600_000],
  ["2M", 120_000],
  ["3S", 3_000],
  ["250m", 250],
  ["1500u", 1.5],
  ["2000000n", 2],
  ["0m", 0],
  ["00000001S", 1_000],
  ["99999999H", 99_999_999 * 3_600_000],
];

for (const [value, ms] of TIMES) {
  Deno.test(`grpc-timeout ${value} is ${ms} ms`, () => {
    assert.equal(parseGrpcTimeout(value), ms);
  });
}

const MALFORMED = [
  "",
  "1",
  "S",
  "1s",
  "1h",
  "-1S",
  "+1S",
  "1.5S",
  "1e3m",
  "0x1S",
  " 1S",
  "1 S",
  "1S ",
  "1SS",
  "123456789m",
  "١S",
];

for (const value of MALFORMED) {
  Deno.test(`grpc-timeout ${JSON.stringify(value)} is malformed`, () => {
    assert.ok(Number.isNaN(parseGrpcTimeout(value)));
  });
}

Deno.test("a request without grpc-timeout has no deadline, and one with two is malformed", () => {
  assert.equal(readGrpcTimeout(fieldsOf([["te", "trailers"]])), Infinity);
  assert.equal(readGrpcTimeout(fieldsOf([["GRPC-Timeout", "1S"]])), 1_000);
  const twice = fieldsOf([["grpc-timeout", "1S"], ["grpc-timeout", "1S"]]);
  assert.ok(Number.isNaN(readGrpcTimeout(twice)));
});
