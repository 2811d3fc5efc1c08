/** Codes for a terminal. In: codes and the width of a line. Out: a list by section, or one of them whole. */
import { wrapText } from "../../shared/wrapped_text.ts";
import type { Style } from "../terminal/style.ts";
import { anchorOf, type Code, codesBySection, isSituation } from "./catalogue.ts";

/** Narrower than this, the meaning has lines of its own. */
const MIN_BESIDE = 60;
const INDENT = "  ";

export interface TextLayout {
  readonly style: Style;
  /** Characters a line. */
  readonly width: number;
}

/** `ServiceNotFound  The Service does not exist; …`, by section. */
export function codeListText(codes: readonly Code[], { style, width }: TextLayout): string {
  const names = Math.max(...codes.map(({ code }) => code.length));
  const sections = [...codesBySection(codes)].map(([title, members]) => {
    const rows = members.flatMap(({ code, meaning }) => {
      if (width < MIN_BESIDE) {
        return [
          `${INDENT}${code}`,
          ...wrapText(plain(meaning), { indent: INDENT.repeat(2), width }),
        ];
      }
      const indent = " ".repeat(INDENT.length + names + 2);
      const [first, ...more] = wrapText(plain(meaning), { indent, width });
      return [`${INDENT}${code.padEnd(names)}  ${first.trimStart()}`, ...more];
    });
    return [style.bold(title), ...rows].join("\n");
  });
  return `${sections.join("\n\n")}\n`;
}

export function codeText(code: Code, { style, width }: TextLayout): string {
  const wrap = (text: string) => wrapText(text, { indent: INDENT, width }).join("\n");
  return [
    style.bold(code.code),
    wrap(kindText(code)),
    "",
    wrap(plain(code.meaning)),
    "",
    ...exampleLines(code, { style, width }),
    style.bold("Remedy"),
    wrap(code.remedy),
    "",
    `docs/codes.md#${anchorOf(code)}`,
    "",
  ].join("\n");
}

/** YAML stays as it is, so that it can be read line by line. */
function exampleLines({ example }: Code, { style, width }: TextLayout): string[] {
  if (example === null) return [];
  const lines = isSituation(example)
    ? wrapText(example, { indent: INDENT, width })
    : example.split("\n").map((line) => INDENT + line);
  return [style.bold("Example"), ...lines, ""];
}

/** `error or warning, on Ingress, Service`, or what a client gets. */
export function kindText(
  { section, kinds, severities, severityInFiles, status, side }: Code,
): string {
  if (side !== null) {
    const whose = {
      downstream: "the client",
      upstream: "the backend",
      internal: "the configuration or the proxy",
    };
    const gets = status === null ? "no response, as the client is gone" : `response ${status}`;
    return `${gets}; caused by ${whose[side]}`;
  }
  if (severities.length === 0) return section;
  const inFiles = severityInFiles === null ? "" : ` (${severityInFiles} in dev, explain and diff)`;
  return `${severities.join(" or ")}${inFiles}, on ${kinds.join(", ")}`;
}

/** Without the links and code marks of Markdown. */
export function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]{0,200})\]\([^)]{0,200}\)/g, "$1").replaceAll("`", "");
}
