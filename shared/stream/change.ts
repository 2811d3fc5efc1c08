/**
 * The lines with configurations. In: contents. Out: the line that carries one of them whole, or what
 * is different from another. Private keys are in these lines as they are: they are for the connection
 * to a proxy, and for nothing else.
 */
import { restText, routeText, versionText } from "../snapshot/serialise.ts";
import { type Content, hostText, type HostUnit, type PartUnit } from "./content.ts";
import { type OfLists, ofLists, PART_LIST, PART_LISTS } from "./part_lists.ts";
import { differenceOf, ORDER } from "./unit.ts";

/** Units of each list. */
type Units = OfLists<readonly PartUnit<unknown>[]>;

/** The message `snapshot`. Each call writes all of it anew. */
export function wholeLine(content: Content): string {
  const { hosts, parts } = content;
  return lineOf([headOf("snapshot", content), ...bodyOf(content, hosts, parts)]);
}

/** Characters of that line, a few more or less; for a moment's work where little has changed. */
export function wholeLength({ hosts, parts }: Content): number {
  let sum = 0;
  for (const { key, part } of hosts) {
    sum += key.length;
    for (const route of part) sum += routeText(route).length + 1;
  }
  for (const list of PART_LISTS) {
    for (const { part } of parts[list]) sum += PART_LIST[list].text(part as never).length + 1;
  }
  return sum;
}

/** The message `delta`, which makes `to` of `from`. */
export function deltaLine(from: Content, to: Content): string {
  const hosts = differenceOf(from.hosts, to.hosts, ORDER.host);
  const parts = ofLists((list) =>
    differenceOf<PartUnit<unknown>>(from.parts[list], to.parts[list], ORDER.part)
  );
  const gone = PART_LISTS.flatMap((list) => {
    const { removed } = parts[list];
    return removed.length === 0 && PART_LIST[list].isOptional ? [] : [[list, removed]];
  });
  const removed = JSON.stringify({ hosts: hosts.removed, ...Object.fromEntries(gone) });
  return lineOf([
    `${headOf("delta", to)},"base":"${from.hash}"`,
    ...bodyOf(to, hosts.changed, ofLists((list) => parts[list].changed)),
    `,"removed":${removed}`,
  ]);
}

/** The message `same`. */
export function sameLine(content: Content): string {
  return lineOf([headOf("same", content)]);
}

function headOf(kind: string, content: Content): string {
  return `{"kind":"${kind}","version":${versionText(content.version)},"hash":"${content.hash}"`;
}

function bodyOf(content: Content, hosts: readonly HostUnit[], parts: Units): string[] {
  return [
    `,${restText(content.snapshot).slice(1, -1)}`,
    `,"hosts":[${hosts.map(({ key, part }) => hostText(key, part)).join(",")}]`,
    ...PART_LISTS.flatMap((list) => {
      const { text, isOptional } = PART_LIST[list];
      if (parts[list].length === 0 && isOptional) return [];
      return `,"${list}":[${parts[list].map(({ part }) => text(part as never)).join(",")}]`;
    }),
  ];
}

function lineOf(pieces: readonly string[]): string {
  return `${pieces.join("")}}\n`;
}
