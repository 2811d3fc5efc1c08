import assert from "node:assert/strict";
import { GRPC_CODES, GRPC_STATUS_OF } from "../proxy/grpc/status.ts";
import { PROXY_OPTIONS } from "../proxy/cli/options.ts";
import { formatFlag } from "../shared/options.ts";

const PAGE = Deno.readTextFileSync(new URL("../docs/grpc.md", import.meta.url));

Deno.test("docs/grpc.md maps errors to their gRPC status", () => {
  const written: Record<string, string[]> = {};
  for (const line of PAGE.split("\n")) {
    const [, status, errors] = /^\| (\d+ `[A-Z_]+`) +\| (.+?) +\|$/.exec(line) ?? [];
    if (status === undefined) continue;
    written[status] = [...errors.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code).sort();
  }
  const expected: Record<string, string[]> = {};
  for (const [code, name] of Object.entries(GRPC_STATUS_OF)) {
    if (name === null) continue;
    (expected[`${GRPC_CODES[name]} \`${name}\``] ??= []).push(code);
  }
  for (const codes of Object.values(expected)) codes.sort();
  assert.deepEqual(written, expected);
});

Deno.test("docs/grpc.md names flags that exist", () => {
  const flags = new Set(
    Object.entries(PROXY_OPTIONS).map(([key, spec]) => formatFlag(key, spec).split(" ")[0]),
  );
  const mentions = [...PAGE.matchAll(/`(--[a-z0-9-]+)`/g)].map(([, flag]) => flag);
  assert.ok(mentions.length > 5);
  for (const flag of mentions) assert.ok(flags.has(flag), flag);
});
