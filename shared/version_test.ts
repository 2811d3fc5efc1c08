import assert from "node:assert/strict";
import { VERSION } from "./version.ts";

Deno.test("the version is that of deno.json", async () => {
  const manifest = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
  assert.equal(VERSION, manifest.version);
});
