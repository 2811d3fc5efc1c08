import assert from "node:assert/strict";
import { GATEWAY_REASONS } from "./reasons.ts";
import { PROBLEM_REASONS } from "../reasons.ts";

const CONTROLLER = new URL("../../", import.meta.url);

/** Where conditions of Gateway API are made. */
const FOLDERS = ["translate/gateway/", "outputs/gateway_status/", "outputs/addresses/"];

function* sources(folder: URL): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* sources(new URL(`${name}/`, folder));
    else if (name.endsWith(".ts")) yield Deno.readTextFileSync(new URL(name, folder));
  }
}

Deno.test("every reason of Gateway API is in the code and on the page of its status", () => {
  const code = FOLDERS.flatMap((folder) => [...sources(new URL(folder, CONTROLLER))]).join("\n");
  const page = Deno.readTextFileSync(new URL("../../../docs/gateway-status.md", import.meta.url));
  for (const { reason, conditions } of GATEWAY_REASONS) {
    assert.ok(code.includes(`"${reason}"`), `${reason} is not in the code`);
    for (const word of [reason, ...conditions]) {
      assert.ok(page.includes(`\`${word}\``), `${word} is not on the page`);
    }
  }
});

Deno.test("no reason is one of an Ingress and of Gateway API", () => {
  const others = new Set(PROBLEM_REASONS.map(({ reason }) => reason));
  assert.deepEqual(GATEWAY_REASONS.filter(({ reason }) => others.has(reason)), []);
});

Deno.test("every reason on the page of the status of Gateway API has its code", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/gateway-status.md", import.meta.url));
  const section = page.slice(page.indexOf("## Reasons"), page.indexOf("## Writes"));
  const known = new Set(GATEWAY_REASONS.map(({ reason }) => reason));
  const cells = section.split("\n").filter((line) => line.startsWith("| ")).slice(2)
    .map((line) => line.split("|")[2]);
  const named = cells.flatMap((cell) => cell.match(/(?<=`)[A-Za-z]+(?=`)/g) ?? []);
  assert.ok(named.length > 10);
  assert.deepEqual(named.filter((reason) => !known.has(reason) && reason !== "ResolvedRefs"), []);
});
