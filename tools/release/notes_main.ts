/** `deno task release:notes`. In: the command line and CHANGELOG.md. Out: the notes on standard output. */
import { parseOptions } from "../../shared/options.ts";
import { releaseNotes, UNRELEASED } from "./notes.ts";
import { NOTES_OPTIONS, NOTES_PROGRAM } from "./options.ts";

const parsed = parseOptions(NOTES_PROGRAM, NOTES_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { version, unreleased } = parsed.options;
const heading = unreleased ? UNRELEASED : version;
const notes = releaseNotes(await Deno.readTextFile("CHANGELOG.md"), heading, version);
if (notes === null) {
  console.error(
    `CHANGELOG.md has no section "## ${heading}": rename "## ${UNRELEASED}" for the release`,
  );
  Deno.exit(1);
}
await Deno.stdout.write(new TextEncoder().encode(notes));
