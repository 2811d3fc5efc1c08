/**
 * Other names of the hosts of one Ingress. In: its annotations and the hosts of its rules. Out: the names
 * of `server-alias` and `from-to-www-redirect`, with a problem for each that cannot be read.
 */
import { quote } from "../../../base/json.ts";
import type { Report } from "../../../base/problems.ts";
import { explainHost, readHost } from "../../model/host.ts";
import type { HostField } from "../../model/host_field.ts";
import { type OtherName, otherNames } from "../../model/other_name.ts";
import type { NginxAnnotations } from "./nginx_annotations.ts";
import { fieldOfAnnotation } from "./refusals.ts";
import { PATHS } from "./rows/paths.ts";
import { REDIRECTS } from "./rows/redirects.ts";

const ALIAS = "server-alias";
const WWW = "from-to-www-redirect";

/** @param hosts Of its rules. */
export function readOtherNames(
  annotations: NginxAnnotations,
  hosts: readonly string[],
  report: Report,
): readonly OtherName[] {
  const aliases = readAliases(annotations, report);
  const isWww = annotations.valueOf(REDIRECTS, WWW) === true;
  if (aliases.length === 0 && !isWww) return NONE;
  const own = new Set(hosts);
  return otherNames(hosts, aliases, isWww ? fieldOfAnnotation(WWW) : null).filter((name) => {
    if (!own.has(name.host)) return true;
    if (name.kind === "www") {
      report.warning(name.field, {
        reason: "HostNameConflict",
        message: `${name.host} is a host of this Ingress, so it is not redirected to ${name.of}`,
        remedy: `Remove the rule for ${name.host}, or the annotation`,
      });
    }
    return false;
  });
}

function readAliases(annotations: NginxAnnotations, report: Report): readonly HostField[] {
  const texts = annotations.valueOf(PATHS, ALIAS);
  if (texts === null) return [];
  const field = fieldOfAnnotation(ALIAS);
  const aliases = new Map<string, HostField>();
  for (const text of texts) {
    const reading = readHost(text);
    if (reading.ok) aliases.set(reading.host, { host: reading.host, field });
    else reportAlias(text, reading.reason, field, report);
  }
  return [...aliases.values()];
}

const NONE: readonly OtherName[] = [];

function reportAlias(text: string, reason: string, field: string, report: Report): void {
  const isPattern = text.startsWith("~");
  report.error(field, {
    reason: "HostInvalid",
    message: isPattern
      ? `${
        quote(text)
      } is a regular expression, which names of hosts cannot be here, so it is left out`
      : `${explainHost(text, reason)}, so it is left out`,
    remedy: "Write names such as app.example.com or *.example.com, separated by commas",
  });
}
