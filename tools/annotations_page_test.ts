import assert from "node:assert/strict";
import { ROWS } from "../controller/translate/annotations/nginx/table.ts";
import { HOSTS_ANNOTATION } from "../controller/translate/hosts/namespace_facts.ts";
import { SERVICE_ANNOTATIONS } from "../controller/translate/annotations/own_annotations.ts";
import { ANNOTATIONS_PAGE, annotationsPage } from "./annotations_page.ts";
import { ENDPOINT_ANNOTATION } from "../dev/local_endpoints.ts";
import {
  PROFILE_ANNOTATION,
  SHARE_ANNOTATION,
  STATUS_ANNOTATION,
} from "../controller/translate/annotations/own_annotation_names.ts";

Deno.test("docs/annotations.md is made from the table of annotations", () => {
  const page = Deno.readTextFileSync(new URL(`../${ANNOTATIONS_PAGE}`, import.meta.url));
  assert.equal(page, annotationsPage(), "run deno task docs:update");
});

Deno.test("every annotation of ingress-nginx has a row with as many cells as the head", () => {
  const rows = nginxRows(annotationsPage());
  for (const row of rows) assert.equal(row.match(/(?<!\\)\|/g)?.length, 8, row);
  const names = rows.map((row) => /^\| `([^`]+)`/.exec(row)![1]);
  assert.deepEqual(names, [...ROWS.keys()]);
});

function nginxRows(page: string): string[] {
  const [, section] = page.split("## ingress-nginx annotations");
  return section.split("\n").filter((line) => line.startsWith("| `"));
}

Deno.test("docs/annotations.md has a row for each annotation of ours that is read, and no other", () => {
  const rows = annotationsPage().split("## ingress-nginx annotations")[0].split("\n").flatMap((
    line,
  ) => /^\| `([^`]+)` +\|/.exec(line)?.[1] ?? []);
  assert.deepEqual(rows, [
    ...SERVICE_ANNOTATIONS,
    SHARE_ANNOTATION,
    PROFILE_ANNOTATION,
    STATUS_ANNOTATION,
    HOSTS_ANNOTATION,
    ENDPOINT_ANNOTATION,
  ]);
});
