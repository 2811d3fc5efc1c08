import assert from "node:assert/strict";
import { ACCESS_LOG_PAGE, accessLogPage, METRICS_PAGE, metricsPage } from "./telemetry_pages.ts";

for (const [path, page] of [[METRICS_PAGE, metricsPage()], [ACCESS_LOG_PAGE, accessLogPage()]]) {
  Deno.test(`${path} matches the code`, () => {
    const written = Deno.readTextFileSync(new URL(`../${path}`, import.meta.url));
    assert.equal(written, page, "run deno task docs:update");
  });

  Deno.test(`every row of ${path} has as many cells as its header`, () => {
    let cells = 0;
    for (const line of page.split("\n")) {
      const count = line.match(/(?<!\\)\|/g)?.length ?? 0;
      if (count > 0 && cells > 0) assert.equal(count, cells, line);
      cells = count;
    }
  });
}
