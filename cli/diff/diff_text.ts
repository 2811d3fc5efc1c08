/**
 * A comparison as text. In: the comparison, the width and the colours of the terminal. Out: lost routes and
 * opened paths first, then all changes, new and mended problems, and the counts. Pure.
 */
import type { LostRoute, OpenedPath } from "../../dev/compare/exposure.ts";
import type { ProbedAnswer } from "../../dev/compare/probed_answer.ts";
import { shareTexts } from "../../dev/gateway/backend_shares.ts";
import { count, printable } from "../../dev/terminal_text.ts";
import type { Origin, Route } from "../../shared/snapshot/types.ts";
import { formatProblems } from "../terminal/problem_text.ts";
import type { Style } from "../terminal/style.ts";
import { wrapLine } from "../terminal/wrapped_lines.ts";
import { certificateLine, routeLine, routeText, settingLine, targetText } from "./change_text.ts";
import type { Comparison } from "./comparison.ts";
import { isUnchanged } from "./route_changes.ts";
import type { Side } from "./side.ts";

/** Lines of a section that are shown; the rest is counted. Lost routes and opened paths are all shown. */
const MAX_SHOWN = 100;

export interface DiffTextOptions {
  readonly columns: number;
  readonly style: Style;
}

/** Without a line break at the end. */
export function diffText(comparison: Comparison, { columns, style }: DiffTextOptions): string {
  const { before, after, notes, changes, exposure: { lost, opened } } = comparison;
  const [was, is] = [placesIn(before), placesIn(after)];
  const changed = [
    ...changes.routes.map((change) =>
      routeLine(change, is) + (change.kind === "removed" ? was(change.before.origin) : "")
    ),
    ...changes.certificates.map(certificateLine),
    ...changes.settings.map(settingLine),
  ];
  const sections: readonly string[][] = [
    [...incompleteLines(before), ...notes.map((note) => printable(`Not known: ${note}`))],
    section("Lost:", lost.flatMap((each) => lostLines(each, was)), style.red),
    section("Open now:", opened.flatMap((each) => openedLines(each, is)), style.red),
    section("Changes:", limited(changed), style.bold),
  ];
  const { added, mended } = changes.problems;
  const texts = [
    ...sections.filter((lines) => lines.length > 0).map((lines) =>
      lines.flatMap((line) => wrapLine(line, columns)).map((line) => painted(line, style))
        .join("\n")
    ),
    ...(added.length === 0
      ? []
      : [formatProblems(added, { columns, style, about: "that are new" })]),
    ...(mended.length === 0 ? [] : [formatProblems(mended, { columns, style, about: "mended" })]),
    wrapLine(printable(summary(comparison)), columns).join("\n"),
  ];
  return texts.join("\n\n");
}

function section(
  heading: string,
  lines: readonly string[],
  paint: (text: string) => string,
): string[] {
  return lines.length === 0 ? [] : [paint(heading), ...lines.map((line) => `  ${printable(line)}`)];
}

function limited(lines: readonly string[]): string[] {
  const more = lines.length - MAX_SHOWN;
  return [...lines.slice(0, MAX_SHOWN), ...(more > 0 ? [`… and ${more} more`] : [])];
}

/** What is not compared. */
function incompleteLines({ name, unread }: Side): string[] {
  return unread.map(({ problem: { message }, at }) =>
    printable(
      `Not compared: ${at === null ? name : `${at.file}:${at.line}:${at.column}`}, as ${message}`,
    )
  );
}

function lostLines({ route, action, now }: LostRoute, was: (origin: Origin) => string): string[] {
  const path = route === null ? "default backend" : routeText(route) + was(route.origin);
  return [`- ${path}`, `  was ${targetText({ action })}, now ${answerText(now)}`];
}

function answerText(answer: ProbedAnswer): string {
  switch (answer.kind) {
    case "error":
      return `${answer.status}: ${answer.reason.replace(/\.$/, "")}`;
    case "redirect":
      return `a redirect of ${takerText(answer.route)}`;
    case "forward": {
      const { route, upstreams } = answer;
      const target = route?.action.kind === "forward"
        ? shareTexts(route.action).join(" or ")
        : upstreams.join(" or ");
      return `${target} by ${takerText(route)}`;
    }
  }
}

function takerText(route: Route | null): string {
  return route === null ? "the default backend" : routeText(route);
}

function openedLines(
  { route, dropped, isOpenToAll }: OpenedPath,
  is: (origin: Origin) => string,
): string[] {
  const what = dropped.length === 0
    ? "was closed, now forwards without a check"
    : `no longer has ${dropped.join(" and ")}${isOpenToAll ? ", nor any other check" : ""}`;
  const path = route === null ? "default backend" : routeText(route) + is(route.origin);
  return [`! ${path}`, `  ${what}`];
}

function placesIn({ locate }: Side): (origin: Origin) => string {
  return (origin) => {
    const at = locate(origin, origin.field);
    return at === null ? "" : ` (${at.file}:${at.line})`;
  };
}

function summary({ before, after, changes, exposure: { lost, opened } }: Comparison): string {
  const compared = `${after.name} against ${before.name}`;
  if (isUnchanged(changes)) return `${compared}: nothing changes`;
  const { routes, certificates, problems: { added, mended } } = changes;
  const of = (kind: "added" | "removed" | "changed") =>
    routes.filter((change) => change.kind === kind).length;
  const parts = [
    ...(lost.length === 0 ? [] : [`${count(lost.length, "route")} lost`]),
    ...(opened.length === 0 ? [] : [`${count(opened.length, "protected path")} open now`]),
    `routes: ${of("added")} new, ${of("changed")} changed, ${of("removed")} removed`,
    ...(certificates.length === 0 ? [] : [`certificates: ${certificates.length} changed`]),
    `problems: ${added.length} new, ${mended.length} mended`,
  ];
  return `${compared}: ${parts.join("; ")}`;
}

function painted(line: string, { red, green, yellow }: Style): string {
  if (/^ {2}[!-] /.test(line)) return red(line);
  if (line.startsWith("  + ")) return green(line);
  return line.startsWith("  ~ ") ? yellow(line) : line;
}
