import assert from "node:assert/strict";
import type { FilterSpec } from "../../../shared/snapshot/types.ts";
import {
  NO_SETTINGS,
  type PolicySpec,
  type RouteSettings,
  RouteSettingsPool,
  settingsSizes,
} from "./route_settings.ts";

const ACCESS: FilterSpec = { kind: "access", deny: ["10.0.0.0/8"] };
const UMLAUT: FilterSpec = { kind: "access", allow: ["ä"] };
const POLICY: PolicySpec = { tries: 2, timeouts: { connect: 1000 } };

/** Counted from the content alone. */
function counted({ filterSet, policy }: RouteSettings): ReadonlyMap<string, number> {
  return settingsSizes({ filterSet, policy });
}

Deno.test("the size of settings is that of their text, however it was found", () => {
  const pool = new RouteSettingsPool();
  for (
    const settings of [
      pool.of([ACCESS], {}),
      pool.of([], POLICY),
      pool.of([ACCESS, UMLAUT], POLICY),
      pool.withRewrite(pool.of([ACCESS], POLICY), UMLAUT),
      NO_SETTINGS,
    ]
  ) assert.deepEqual(settingsSizes(settings), counted(settings));
});

Deno.test("equal settings are the same object, others have other ids", () => {
  const pool = new RouteSettingsPool();
  const settings = pool.of([ACCESS], POLICY);
  assert.equal(pool.of([{ ...ACCESS }], { ...POLICY }), settings);
  assert.notEqual(pool.of([UMLAUT], POLICY).filterSet!.id, settings.filterSet!.id);
  assert.equal(pool.of([UMLAUT], POLICY).policy!.id, settings.policy!.id);
  assert.notEqual(pool.of([ACCESS], {}), settings);
});

Deno.test("settings with another part than the one that was counted are counted again", () => {
  const pool = new RouteSettingsPool();
  const settings = pool.of([ACCESS], POLICY);
  const { filterSet } = pool.of([UMLAUT], {});
  const changed = { ...settings, filterSet };
  assert.deepEqual(settingsSizes(changed), counted(changed));
  assert.deepEqual(settingsSizes({ ...settings, policy: null }).size, 1);
});

Deno.test("settings that are written again with other values do not pile up", () => {
  const pool = new RouteSettingsPool();
  const always = pool.of([ACCESS], POLICY);
  const value = "v".repeat(240 * 1024);
  for (let i = 0; i < 200; i++) {
    const add = [{ name: "x", value: `${i}${value}` }];
    const settings = pool.of([{ kind: "request-headers", set: [], add, remove: [] }], POLICY);
    pool.withRewrite(settings, UMLAUT);
    assert.equal(pool.of([ACCESS], POLICY), always);
    assert(pool.bytes <= 16 * 1024 * 1024);
  }
});
