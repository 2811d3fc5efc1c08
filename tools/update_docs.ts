/**
 * Writes the pages that are made from code. In: the programs' specs. Out: `docs/flags.md`.
 *
 *     deno task docs:update
 */
import { FLAGS_PAGE, flagsPage } from "./flags_page.ts";

Deno.writeTextFileSync(FLAGS_PAGE, flagsPage());
console.log(`wrote ${FLAGS_PAGE}`);
