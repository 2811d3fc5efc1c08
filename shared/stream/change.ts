/**
 * The lines with configurations. In: contents. Out: the line that carries one of them whole, or what
 * is different from another. Private keys are in these lines as they are: they are for the connection
 * to a proxy, and for nothing else.
 */
import type { Certificate, Upstream } from "../snapshot/types.ts";
import {
  certificateText,
  restText,
  routeText,
  upstreamText,
  versionText,
} from "../snapshot/serialise.ts";
import { type Content, hostText, type HostUnit, type PartUnit } from "./content.ts";
import { differenceOf, ORDER } from "./unit.ts";

/** The message `snapshot`. Each call writes all of it anew. */
export function wholeLine(content: Content): string {
  const { hosts, upstreams, certificates } = content;
  return lineOf([headOf("snapshot", content), ...bodyOf(content, hosts, upstreams, certificates)]);
}

/** Characters of that line, a few more or less; for a moment's work where little has changed. */
export function wholeLength({ hosts, upstreams, certificates }: Content): number {
  let sum = 0;
  for (const { key, part } of hosts) {
    sum += key.length;
    for (const route of part) sum += routeText(route).length + 1;
  }
  for (const { part } of upstreams) sum += upstreamText(part).length + 1;
  for (const { part } of certificates) sum += certificateText(part).length + 1;
  return sum;
}

/** The message `delta`, which makes `to` of `from`. */
export function deltaLine(from: Content, to: Content): string {
  const hosts = differenceOf(from.hosts, to.hosts, ORDER.host);
  const upstreams = differenceOf(from.upstreams, to.upstreams, ORDER.upstream);
  const certificates = differenceOf(from.certificates, to.certificates, ORDER.certificate);
  const removed = JSON.stringify({
    hosts: hosts.removed,
    upstreams: upstreams.removed,
    certificates: certificates.removed,
  });
  return lineOf([
    `${headOf("delta", to)},"base":"${from.hash}"`,
    ...bodyOf(to, hosts.changed, upstreams.changed, certificates.changed),
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

function bodyOf(
  content: Content,
  hosts: readonly HostUnit[],
  upstreams: readonly PartUnit<Upstream>[],
  certificates: readonly PartUnit<Certificate>[],
): string[] {
  return [
    `,${restText(content.snapshot).slice(1, -1)}`,
    `,"hosts":[${hosts.map(({ key, part }) => hostText(key, part)).join(",")}]`,
    `,"upstreams":[${upstreams.map(({ part }) => upstreamText(part)).join(",")}]`,
    `,"certificates":[${certificates.map(({ part }) => certificateText(part)).join(",")}]`,
  ];
}

function lineOf(pieces: readonly string[]): string {
  return `${pieces.join("")}}\n`;
}
