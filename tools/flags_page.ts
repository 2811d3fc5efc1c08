/**
 * The page of all flags. In: each program's specs. Out: the text of `docs/flags.md`, so that what
 * users read is what the programs take.
 */
import { COMMANDS } from "../cli/commands.ts";
import { EXPLAIN_OPTIONS, EXPLAIN_TASK } from "../cli/explain/options.ts";
import { LINT_OPTIONS, LINT_PROGRAM } from "../cli/lint/options.ts";
import { CONTROLLER_OPTIONS, CONTROLLER_PROGRAM } from "../controller/cli/options.ts";
import { DEV_OPTIONS, DEV_PROGRAM } from "../dev/options.ts";
import { PROXY_OPTIONS, PROXY_PROGRAM } from "../proxy/cli/options.ts";
import {
  formatDefault,
  formatFlag,
  type OptionSpec,
  type OptionSpecs,
  type Program,
} from "../shared/options.ts";
import {
  COMPILE_OPTIONS,
  COMPILE_PROGRAM,
  DEPLOY_OPTIONS,
  DEPLOY_PROGRAM,
  IMAGES_OPTIONS,
  IMAGES_PROGRAM,
  PACKAGE_OPTIONS,
  PACKAGE_PROGRAM,
  UNDEPLOY_OPTIONS,
  UNDEPLOY_PROGRAM,
} from "./deployment_options.ts";
import {
  KREW_OPTIONS,
  KREW_PROGRAM,
  NOTES_OPTIONS,
  NOTES_PROGRAM,
  SBOM_OPTIONS,
  SBOM_PROGRAM,
  SIGN_OPTIONS,
  SIGN_PROGRAM,
} from "./release/options.ts";

interface Documented {
  readonly program: Program;
  readonly specs: OptionSpecs;
}

const PROGRAMS: readonly Documented[] = [
  { program: DEV_PROGRAM, specs: DEV_OPTIONS },
  { program: EXPLAIN_TASK, specs: EXPLAIN_OPTIONS },
  { program: LINT_PROGRAM, specs: LINT_OPTIONS },
  { program: CONTROLLER_PROGRAM, specs: CONTROLLER_OPTIONS },
  { program: PROXY_PROGRAM, specs: PROXY_OPTIONS },
  { program: IMAGES_PROGRAM, specs: IMAGES_OPTIONS },
  { program: COMPILE_PROGRAM, specs: COMPILE_OPTIONS },
  { program: PACKAGE_PROGRAM, specs: PACKAGE_OPTIONS },
  { program: DEPLOY_PROGRAM, specs: DEPLOY_OPTIONS },
  { program: UNDEPLOY_PROGRAM, specs: UNDEPLOY_OPTIONS },
  { program: NOTES_PROGRAM, specs: NOTES_OPTIONS },
  { program: SBOM_PROGRAM, specs: SBOM_OPTIONS },
  { program: SIGN_PROGRAM, specs: SIGN_OPTIONS },
  { program: KREW_PROGRAM, specs: KREW_OPTIONS },
];

/** Where the page stands, relative to the repository. */
export const FLAGS_PAGE = "docs/flags.md";

/** The commands of `pingress`, each with the task that is the same program; then other programs. */
async function documented(): Promise<(Documented & { readonly task: string | null })[]> {
  const commands = await Promise.all(COMMANDS.map(async ({ load }) => {
    const { program, specs } = await load();
    const task = PROGRAMS.find((other) => other.specs === specs)?.program.name ?? null;
    return { program, specs, task };
  }));
  const others = PROGRAMS.filter(({ specs }) => commands.every((each) => each.specs !== specs));
  return [...commands, ...others.map((each) => ({ ...each, task: null }))];
}

/** One table a program, one row a flag, in the order of `--help`. */
export async function flagsPage(): Promise<string> {
  const sections = (await documented()).map(({ program, specs, task }) => {
    const { positionals } = program;
    const rows = Object.entries(specs).map(([key, spec]) => row(key, spec));
    return [
      `## \`${program.name}\``,
      "",
      cell(program.summary) + (task === null ? "" : ` Also started by \`${task}\`.`),
      ...(positionals === undefined
        ? []
        : ["", `\`${positionals.name}\`: ${cell(positionals.help)}`]),
      "",
      "| flag | what it does | default, and why |",
      "| --- | --- | --- |",
      ...rows,
      "",
    ].join("\n");
  });
  return [
    "# Flags",
    "",
    "Made from the programs themselves by `deno task docs:update`; do not edit.",
    "",
    "Durations are written like `500ms`, `10s`, `1m30s` or `1h`; sizes like `512`, `32KiB` or",
    "`1MiB`; addresses like `0.0.0.0:80`, `[::]:443` or `:8080` (all IPv4 addresses). Every program",
    "takes `--help`. Flags marked *repeatable* may be given several times. Commands of",
    "[`pingress`](pingress.md) also take short flags: `-o` for `--output` and the like.",
    "",
    ...sections,
  ].join("\n");
}

function row(key: string, spec: OptionSpec): string {
  const flag = formatFlag(key, spec).replaceAll("|", "\\|");
  const repeatable = "repeatable" in spec && spec.repeatable ? " *(repeatable)*" : "";
  const fallback = spec.required ? "must be given" : formatDefault(spec);
  const shown = fallback === "" ? "–" : spec.required ? fallback : `\`${fallback}\``;
  const reason = spec.reason === undefined ? "" : `: ${cell(spec.reason)}`;
  return `| \`${flag}\`${repeatable} | ${cell(spec.help)} | ${shown}${reason} |`;
}

/** Text that a table cell shows as it stands. */
function cell(text: string): string {
  return text.replace(/[\\|<*_]/g, "\\$&");
}
