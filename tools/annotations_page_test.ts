import assert from "node:assert/strict";
import { HOSTS_ANNOTATION } from "../controller/translate/hosts/namespace_facts.ts";
import { SERVICE_ANNOTATIONS } from "../controller/translate/annotations/own_annotations.ts";
import { ENDPOINT_ANNOTATION } from "../dev/local_endpoints.ts";
import { SHARE_ANNOTATION } from "../controller/translate/annotations/own_annotation_names.ts";

Deno.test("docs/annotations.md has a row for each annotation that is read, and no other", () => {
  const page = Deno.readTextFileSync(new URL("../docs/annotations.md", import.meta.url));
  const rows = page.split("\n").flatMap((line) => /^\| `([^`]+)` +\|/.exec(line)?.[1] ?? []);
  assert.deepEqual(rows, [
    ...SERVICE_ANNOTATIONS,
    SHARE_ANNOTATION,
    HOSTS_ANNOTATION,
    ENDPOINT_ANNOTATION,
  ]);
});
