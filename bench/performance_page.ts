/**
 * `docs/performance.md` and its plots. In: the results that are kept in `bench/results`. Out: the
 * texts of the page and of each plot; nothing of them is written by hand but the introduction here.
 */
import { judge, type JudgedMark, type Mark, MARKS, type Verdict } from "./marks.ts";
import { type Plot, plotsOf } from "./plot.ts";
import { formatMarkdown, notesOf, number, ratio, spread, type Table, tableOf } from "./report.ts";
import { type CaseResults, describeSchedule, loadResults, RESULTS_FOLDER } from "./results.ts";

const ROOT = new URL("../", import.meta.url);

export const PERFORMANCE_PAGE = "docs/performance.md";
export const PLOTS_FOLDER = "docs/plots";

const INTRODUCTION = `# Performance

What Pingress costs beside other proxies: CPU time per request, tails and memory, in alternating
rounds of one run for each case. [bench.md](bench.md) says what each case is, how it is measured, how
to read the tables, and what they do not show; [performance-log.md](performance-log.md) what was
tried to make them better.

This page and its plots are written by \`deno task bench --write\` from the rounds in
\`bench/results\`. Each section is of the day that it names; run the bench on your own machine before
you compare with anything else.`;

const MARKS_INTRODUCTION = `## The marks

What the data plane is held to. Ratios are of CPU time per request to another proxy's, or of a case
to its baseline, in one run; the figure is the median of its rounds, and lower is better. *Must* is
the bound that has to hold, *aim* the one that is wished for.`;

const VERDICTS: Readonly<Record<Verdict, string>> = {
  aim: "holds, aim reached",
  must: "holds",
  missed: "**missed**",
  "not measured": "not measured",
};

/** Path in the repository, and text. */
export type Page = readonly [path: string, text: string];

/** The page first, then its plots. */
export function performancePages(all: readonly CaseResults[]): Page[] {
  const plots = all.map((results) => ({ results, plots: plotsOf(results) }));
  const sections = plots.map(({ results, plots }) => formatSection(results, plots));
  const page = [INTRODUCTION, MARKS_INTRODUCTION, formatMarkdown(marksTable(all)), ...sections];
  return [
    [PERFORMANCE_PAGE, `${page.join("\n\n")}\n`],
    ...plots.flatMap(({ plots }) =>
      plots.map(({ name, svg }): Page => [`${PLOTS_FOLDER}/${name}.svg`, svg])
    ),
  ];
}

/** Writes them into the repository; their paths. */
export async function writePerformancePage(): Promise<string[]> {
  const pages = performancePages(await loadResults(RESULTS_FOLDER));
  await Deno.mkdir(new URL(PLOTS_FOLDER, ROOT), { recursive: true });
  for (const [path, text] of pages) await Deno.writeTextFile(new URL(path, ROOT), text);
  return pages.map(([path]) => path);
}

export function marksTable(all: readonly CaseResults[]): Table {
  const rows = MARKS.map((mark) => {
    const { figure, verdict }: JudgedMark = judge(mark, all.find((one) => one.case === mark.case));
    const show = formatFor(mark);
    return [
      mark.case,
      mark.about,
      `≤ ${show(mark.must)}`,
      mark.aim === null ? "" : `≤ ${show(mark.aim)}`,
      figure === null ? "" : show(figure.median),
      figure === null ? "" : spread(figure, show),
      VERDICTS[verdict],
    ];
  });
  return [["case", "what", "must", "aim", "measured", "its spread", "verdict"], ...rows];
}

function formatFor({ unit }: Mark): (value: number) => string {
  if (unit === "count") return (value) => value.toString();
  return unit === "KiB" ? (value) => `${number(value)} KiB` : ratio;
}

function formatSection(results: CaseResults, plots: readonly Plot[]): string {
  const { schedule, date, machine, disturbance, load, versions, baseline, pace, rate } = results;
  const facts = [
    `measured on ${date}; ${machine}; median of ${describeSchedule(schedule)}`,
    ...(disturbance === null ? [] : [disturbance]),
    ...(baseline === null ? [] : [`baseline: ${baseline}`]),
    ...(pace === null || rate === null
      ? []
      : [`${rate} requests/s offered to each, ${pace} of what the slowest of them carries`]),
    `load: ${load}`,
    ...notesOf(results.peers),
    ...Object.entries(versions).map(([peer, version]) => `${peer}: ${version}`),
  ];
  return `## ${results.case}

${results.about}.

${plots.map(({ title, name }) => `![${title}](plots/${name}.svg)`).join("\n\n")}

${formatMarkdown(tableOf(results))}

${facts.map((fact) => `- ${fact}`).join("\n")}`;
}
