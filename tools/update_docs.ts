/**
 * Writes the pages that are made from code. In: the programs' specs, the metrics, the fields of the
 * access log, and the differences from nginx. Out: `docs/flags.md`, `docs/metrics.md`,
 * `docs/access-log.md` and `docs/differences-from-nginx.md`.
 *
 *     deno task docs:update
 */
import { DIFFERENCES_PAGE, differencesPage } from "./differences_page.ts";
import { FLAGS_PAGE, flagsPage } from "./flags_page.ts";
import { ACCESS_LOG_PAGE, accessLogPage, METRICS_PAGE, metricsPage } from "./telemetry_pages.ts";

const pages = [
  [FLAGS_PAGE, flagsPage()],
  [METRICS_PAGE, metricsPage()],
  [ACCESS_LOG_PAGE, accessLogPage()],
  [DIFFERENCES_PAGE, differencesPage()],
];
for (const [path, text] of pages) {
  Deno.writeTextFileSync(path, text);
  console.log(`wrote ${path}`);
}
