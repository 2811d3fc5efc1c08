/**
 * An explanation in one line. In: the explanation. Out: `https://app.example.com/x → default/web:http
 * (10.1.0.22:8080) 3-app.yaml:21`. Pure.
 */
import type {
  ExplainedOrigin,
  UpstreamFacts,
  UrlExplanation,
} from "../../dev/explain/url_explanation.ts";
import { sharesInWords } from "../../dev/gateway/backend_shares.ts";
import { formatPosition } from "../../dev/manifests/position.ts";
import { printable } from "../../dev/terminal_text.ts";
import { formatObject } from "../../shared/problem.ts";
import type { Style } from "../terminal/style.ts";

export function shortText(explanation: UrlExplanation, style: Style): string {
  const { url, answer, httpsRedirect, route, filters } = explanation;
  const arrow = style.dim("→");
  const steps = [printable(url)];
  if (httpsRedirect !== null && httpsRedirect.location !== null && !httpsRedirect.isAfterRoute) {
    steps.push(printable(`308 ${httpsRedirect.location}`));
  }
  if (answer.kind === "error") {
    const text = printable(`${answer.status}: ${answer.reason.replace(/\.$/, "")}`);
    steps.push(style.red(text));
  } else if (answer.kind === "redirect") {
    steps.push(printable(`${answer.status} ${answer.location}`));
  } else {
    const target = sharesInWords(route?.backends ?? []).join(" or ");
    steps.push(printable(`${target} (${endpointsText(explanation.upstreams)})`));
  }
  const needs = [...new Set((filters ?? []).flatMap(({ requires }) => requires))];
  const origin = route?.origin ?? null;
  return [
    steps.join(` ${arrow} `),
    ...(needs.length === 0 || answer.kind !== "backend" ? [] : [`[${needs.join(", ")}]`]),
    ...(origin === null ? [] : [style.dim(printable(placeText(origin)))]),
  ].join(" ");
}

/** What one line leaves out and may be the reason of what it shows, a line each. */
export function shortHints(explanation: UrlExplanation): readonly string[] {
  const { certificates, notes } = explanation;
  const unread = certificates.find(({ isKnown }) => !isKnown);
  return [
    ...(errorHint(explanation) ?? []),
    ...(unread === undefined ? [] : [`  certificate not known: ${unread.because}`]),
    ...notes.filter((note) => unread === undefined || !note.startsWith(unread.because))
      .map((note) => `  not known: ${note}`),
  ];
}

/** On what may be the reason of an error; null where nothing is known to be wrong. */
function errorHint({ answer, problems }: UrlExplanation): readonly [string] | null {
  const of = (wanted: string) => problems.filter(({ severity }) => severity === wanted);
  const errors = [...of("error"), ...of("warning")];
  if (answer.kind !== "error" || errors.length === 0) return null;
  const [{ reason, at, message }] = errors;
  const place = at === null ? "" : ` (${formatPosition(at)})`;
  const more = errors.length === 1 ? "" : ` and ${errors.length - 1} more`;
  return [`  perhaps as ${reason}${place}: ${message}${more}; without --short it is listed`];
}

/** The first address, and how many more there are. */
function endpointsText(upstreams: readonly UpstreamFacts[]): string {
  const [first, ...more] = upstreams.flatMap(({ endpoints }) => endpoints);
  if (first === undefined) {
    return [...new Set(upstreams.flatMap(({ inDev }) => inDev ?? []))].join(", ") || "no endpoint";
  }
  return more.length === 0 ? first.address : `${first.address} and ${more.length} more`;
}

/** File and line; the object where it is in no file. */
function placeText({ at, ...origin }: ExplainedOrigin): string {
  return at === null ? formatObject(origin) : `${at.file}:${at.line}`;
}
