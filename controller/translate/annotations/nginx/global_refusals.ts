/**
 * What ingress-nginx's ConfigMap forbids Ingresses to say. In: the annotations of one Ingress, and the
 * settings for all of its profile. Out: a refusal for each annotation of too high a risk, or with a
 * forbidden word. None can be accepted: the operator has forbidden it.
 */
import { type GlobalSettings, RISKS } from "../../model/global_settings.ts";
import type { Profile } from "../../model/profile.ts";
import type { Refusal } from "../../model/source.ts";
import type { NginxAnnotations, WrittenAnnotation } from "./nginx_annotations.ts";
import { fieldOfAnnotation, readRefusals } from "./refusals.ts";

/** With those of the annotations themselves: of each name one. */
export function readAllRefusals(
  annotations: NginxAnnotations,
  globals: Pick<GlobalSettings, "risk" | "forbiddenWords">,
  profile: Profile,
): readonly Refusal[] {
  const own = readRefusals(annotations, profile);
  const forbidden = readGlobalRefusals(annotations, globals);
  if (forbidden.length === 0) return own;
  const names = new Set(forbidden.map(({ name }) => name));
  return [...forbidden, ...own.filter(({ name }) => !names.has(name))];
}

function readGlobalRefusals(
  { written }: NginxAnnotations,
  globals: Pick<GlobalSettings, "risk" | "forbiddenWords">,
): readonly Refusal[] {
  if (globals.risk === null && globals.forbiddenWords.length === 0) return [];
  return written.flatMap((annotation): Refusal[] => {
    const { name, row } = annotation;
    const refused = refusedBy(annotation, globals);
    if (refused === null) return [];
    const isHostWide = row !== null && row.protects && row.scope === "host";
    return [{ name, field: fieldOfAnnotation(name), isHostWide, ...refused }];
  });
}

function refusedBy(
  { row, text }: WrittenAnnotation,
  { risk, forbiddenWords }: Pick<GlobalSettings, "risk" | "forbiddenWords">,
): Pick<Refusal, "fault" | "remedy"> | null {
  const own = row?.risk ?? null;
  if (risk !== null && own !== null && RISKS.indexOf(own) > RISKS.indexOf(risk)) {
    return {
      fault: `has the risk ${own}, and annotations-risk-level of the ConfigMap is ${risk}`,
      remedy: "Remove the annotation, or let the operator raise annotations-risk-level",
    };
  }
  return text !== null && forbiddenWords.some((word) => text.includes(word))
    ? {
      fault: "has a word that annotation-value-word-blocklist of the ConfigMap forbids",
      remedy: "Remove the annotation, or write it without the word",
    }
    : null;
}
