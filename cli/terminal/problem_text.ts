/**
 * Problems at a terminal, for all commands. In: problems with their places and excerpts, the width and whether
 * there are colours. Out: text, by object and worst first: code, place, the line with a caret, message and
 * remedy. Control characters of manifests are escaped.
 */
import type { Excerpt } from "../../dev/manifests/excerpt.ts";
import type { LocatedProblem } from "../../dev/manifests/file.ts";
import { formatPosition } from "../../dev/manifests/position.ts";
import { count, printable } from "../../dev/terminal_text.ts";
import { formatObject, SEVERITIES, type Severity } from "../../shared/problem.ts";
import { excerptLines } from "./excerpt_text.ts";
import { type Style, styleOf } from "./style.ts";
import { wrapLine } from "./wrapped_lines.ts";

export interface Surface {
  /** Characters a line; Infinity where nothing is wrapped. */
  readonly columns: number;
  readonly style: Style;
}

/** Outside a terminal. */
export const PLAIN: Surface = { columns: Infinity, style: styleOf(false) };

/** What is said once, of one place or several. */
export interface Entry {
  readonly severity: Severity;
  /** In place of the severity: `OPENS`. */
  readonly label: string;
  /** `ServiceNotFound`. */
  readonly code: string;
  readonly places: readonly Place[];
  /** Sentences, each on a line of its own. */
  readonly texts: readonly string[];
  /** Null for nothing to do. */
  readonly remedy: string | null;
}

export interface Place {
  /** `app.yaml:12:7`, or what else says where it is. */
  readonly text: string;
  /** Null for a line that must not be shown, or what stands in no file. */
  readonly excerpt: Excerpt | null;
}

export interface ProblemTextOptions extends Surface {
  /** Follows the counts in the heading. */
  readonly about?: string;
  /** Lists those that need nothing; else they are counted. */
  readonly listsInfo?: boolean;
  /** How to list them. */
  readonly infoHint?: string;
}

/** Places that a message has before they are counted, and objects before they share a group. */
const MANY = 4;

const COLOURS = { error: "red", warning: "yellow", info: "cyan" } as const;

function coloured(severity: Severity, text: string, { style }: Surface): string {
  return style[COLOURS[severity]](text);
}

/** The place of what is neither in a file nor about an object. */
const WHERE_NO_FILE = "(command line)";

/** All of them, worst first; equal ones of one object once, with all their places. */
export function formatProblems(
  problems: readonly LocatedProblem[],
  options: ProblemTextOptions,
): string {
  const { about = "", listsInfo = false } = options;
  const of = (severity: Severity) =>
    problems.filter(({ problem }) => problem.severity === severity);
  const [errors, warnings, infos] = SEVERITIES.map(of);
  const listed = [...errors, ...warnings, ...(listsInfo ? infos : [])];
  const suffix = about === "" ? "" : ` ${about}`;
  const heading = errors.length + warnings.length === 0
    ? `No problems${suffix}`
    : `${count(errors.length, "error")}, ${count(warnings.length, "warning")}${suffix}:`;
  const groups = groupsOf(listed).map(({ title, entries }) =>
    [
      options.style.bold(printable(title)),
      ...entries.flatMap((entry) => entryLines(entry, options)),
    ].join("\n")
  );
  const rest = listsInfo || infos.length === 0
    ? []
    : [wrapped(infoLine(infos, options.infoHint), 0, options).join("\n")];
  const title = wrapped(heading, 0, options).join("\n");
  return [[title, ...groups.slice(0, 1)].join("\n\n"), ...groups.slice(1), ...rest].join("\n\n");
}

/** Whether it is more than an info. */
export function needsSomething({ problem }: LocatedProblem): boolean {
  return problem.severity !== "info";
}

/** `error  ServiceNotFound  app.yaml:12:7`, the line, the message and the remedy, indented by two. */
export function entryLines(entry: Entry, surface: Surface): string[] {
  const { severity, places, texts, remedy } = entry;
  const [first, ...others] = places;
  const [text, ...more] = texts;
  const times = places.length < MANY ? "" : `${places.length} times: `;
  const head = headOf(entry, surface);
  return [
    ...(head === "" ? [] : wrapped(head, 2, surface)),
    ...others.flatMap((place) => wrapped(printable(place.text), 4, surface)),
    ...frame(first?.excerpt ?? null, severity, surface),
    ...(text === undefined ? [] : wrapped(times + printable(text), 4, surface)),
    ...more.flatMap((one) => wrapped(printable(one), 4, surface)),
    ...(remedy === null ? [] : wrapped(`→ ${printable(remedy)}`, 4, surface)),
  ];
}

function headOf({ severity, label, code, places: [first] }: Entry, surface: Surface): string {
  return [
    coloured(severity, label, surface),
    surface.style.bold(printable(code)),
    first === undefined ? "" : printable(first.text),
  ].filter((part) => part !== "").join("  ");
}

function frame(excerpt: Excerpt | null, severity: Severity, surface: Surface): string[] {
  if (excerpt === null) return [];
  const [line, caret, ...rest] = excerptLines(excerpt, surface.columns - 4);
  return [line, coloured(severity, caret ?? "", surface), ...rest]
    .map((one) => `    ${one}`.trimEnd());
}

/** Lines of at most the width, after the first indented by two more. */
function wrapped(text: string, indent: number, { columns }: Surface): string[] {
  return wrapLine(" ".repeat(indent) + text, columns);
}

interface Group {
  readonly title: string;
  readonly entries: readonly Entry[];
}

/** By object; what is said of many objects is a group of its own. */
function groupsOf(problems: readonly LocatedProblem[]): Group[] {
  const subjects = new Map(
    [...Map.groupBy(problems, wordsOf)].map(([words, equal]) => [
      words,
      new Set(equal.map(subjectOf)).size,
    ]),
  );
  const titleOf = (one: LocatedProblem) => {
    const many = subjects.get(wordsOf(one))!;
    return many < MANY ? subjectOf(one) : `${many} objects`;
  };
  const groups = Map.groupBy(
    problems,
    (one) => {
      const title = titleOf(one);
      return title === subjectOf(one) ? title : JSON.stringify([title, wordsOf(one)]);
    },
  );
  // The problems come worst first, so the groups do by their first ones, and their entries too.
  return [...groups.values()].map((group) => {
    const title = titleOf(group[0]);
    const isShared = title !== subjectOf(group[0]);
    return {
      title,
      entries: [...Map.groupBy(group, wordsOf).values()].map((equal) => entryOf(equal, isShared)),
    };
  });
}

function wordsOf({ problem: { severity, reason, message, remedy } }: LocatedProblem): string {
  return JSON.stringify([severity, reason, message, remedy]);
}

/** The object, or the file where none could be read. */
function subjectOf({ problem: { object }, at }: LocatedProblem): string {
  return object !== null ? formatObject(object) : at?.file ?? WHERE_NO_FILE;
}

function entryOf(equal: readonly LocatedProblem[], isShared: boolean): Entry {
  const { severity, reason, message, remedy } = equal[0].problem;
  return {
    severity,
    label: severity,
    code: reason,
    places: equal.map(({ problem: { object, field }, at, excerpt }) => ({
      text: [
        ...(at === null ? [] : [formatPosition(at)]),
        // In a cluster an object is the place.
        ...(object !== null && (isShared || at === null) ? [formatObject(object)] : []),
        ...(object === null && at === null ? [WHERE_NO_FILE] : []),
        ...(field === "" ? [] : [field]),
      ].join("  "),
      excerpt: excerpt ?? null,
    })),
    texts: [message],
    remedy,
  };
}

/** `3 infos with nothing to do: 2 KindIgnored, 1 FileIgnored`. */
function infoLine(infos: readonly LocatedProblem[], hint: string | undefined): string {
  const reasons = [...Map.groupBy(infos, ({ problem }) => problem.reason)]
    .map(([reason, all]) => `${all.length} ${reason}`);
  const suffix = hint === undefined ? "" : ` (${hint})`;
  return `${count(infos.length, "info")} with nothing to do: ${reasons.join(", ")}${suffix}`;
}
