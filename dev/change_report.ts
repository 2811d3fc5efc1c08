/**
 * What `deno task dev` shows of a saved change. In: what is served otherwise, and how long that took. Out: a
 * line for each route that changed, and how many problems there are now; null where nothing changed.
 */
import { certificateLine, routeLine, settingLine } from "../cli/diff/change_text.ts";
import { isUnchanged, type ServedChanges, servedChanges } from "../cli/diff/route_changes.ts";
import { formatProblems, type ProblemTextOptions } from "../cli/terminal/problem_text.ts";
import type { Origin } from "../shared/snapshot/types.ts";
import type { Manifests } from "./manifests/manifests.ts";
import { fittedText, gatewaySections, type Listeners } from "./report.ts";
import { type Served, stateOf } from "./serving.ts";
import { count } from "./terminal_text.ts";

/** Lines that are shown; the rest is counted. */
const MAX_SHOWN = 10;

/**
 * Everything that is shown after a change; null where nothing is served otherwise.
 *
 * @param duration From the notice of the change until requests met it, in ms.
 */
export function changeText(
  before: Served,
  after: Served,
  listeners: Listeners,
  duration: number,
  options: ProblemTextOptions,
): string | null {
  const state = stateOf(after);
  const changes = servedChanges(stateOf(before), state);
  const text = formatChange(changes, after.manifests, state.problems.length, duration);
  if (text === null) return null;
  const { problems: { added }, settings } = changes;
  const gateways = settings.some(({ kind }) => kind === "listener")
    ? gatewaySections(after.plan, { ...listeners, sockets: after.sockets })
    : [];
  const sections = [
    fittedText(text, options.columns),
    ...(added.length === 0 ? [] : [formatProblems(added, { ...options, about: "that are new" })]),
    ...gateways.map((section) => fittedText(section, options.columns)),
  ];
  return sections.join("\n\n");
}

/** @param duration From the notice of the change until requests met it, in ms. */
export function formatChange(
  changes: ServedChanges,
  manifests: Pick<Manifests, "locate">,
  problems: number,
  duration: number,
): string | null {
  if (isUnchanged(changes)) return null;
  const place = (origin: Origin) => placeText(manifests, origin);
  const lines = [
    ...changes.routes.map((change) => routeLine(change, place)),
    ...changes.certificates.map(certificateLine),
    ...changes.settings.map(settingLine),
  ];
  const applied = `applied in ${Math.round(duration)} ms · ${problemCounts(changes, problems)}`;
  if (lines.length === 0) return applied;
  if (lines.length === 1) return `${lines[0]}  ${applied}`;
  const more = lines.length - MAX_SHOWN;
  return [
    ...lines.slice(0, MAX_SHOWN),
    ...(more > 0 ? [`… and ${more} more`] : []),
    applied,
  ].join("\n");
}

/** ` (examples/3-app.yaml:21)`; nothing for what stands in no file. */
function placeText(manifests: Pick<Manifests, "locate">, origin: Origin): string {
  const at = manifests.locate(origin, origin.field);
  return at === null ? "" : ` (${at.file}:${at.line})`;
}

/** `2 problems (1 new, 1 mended)`. */
function problemCounts({ problems: { added, mended } }: ServedChanges, problems: number): string {
  const news = [
    ...(added.length === 0 ? [] : [`${added.length} new`]),
    ...(mended.length === 0 ? [] : [`${mended.length} mended`]),
  ];
  return `${count(problems, "problem")}${news.length === 0 ? "" : ` (${news.join(", ")})`}`;
}
