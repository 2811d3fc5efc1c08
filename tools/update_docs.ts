/**
 * Writes the pages that are made from code. In: the programs' specs, the metrics, and the fields of
 * the access log. Out: `docs/flags.md`, `docs/metrics.md` and `docs/access-log.md`.
 *
 *     deno task docs:update
 */
import { FLAGS_PAGE, flagsPage } from "./flags_page.ts";
import { ACCESS_LOG_PAGE, accessLogPage, METRICS_PAGE, metricsPage } from "./telemetry_pages.ts";

const pages = [
  [FLAGS_PAGE, flagsPage()],
  [METRICS_PAGE, metricsPage()],
  [ACCESS_LOG_PAGE, accessLogPage()],
];
for (const [path, text] of pages) {
  Deno.writeTextFileSync(path, text);
  console.log(`wrote ${path}`);
}
