/**
 * A rule for `deno lint`. In: the regular-expression literals of the programs, and the strings given
 * to `RegExp`. Out: a finding for each that can take more than linear time, by the analysis of scslre.
 *
 * Searching counts: `/a+$/` takes quadratic time on `aaa…b`, as each start is tried. One header field
 * of 64 KiB against such a pattern stops a worker for seconds.
 */
import { join, relative } from "node:path";
import { analyse } from "scslre";

/** Tests and benchmarks read what they write themselves. */
const TRUSTED = /^(?:bench|tests)[/\\]|_test\.ts$/;

const ROOT = join(import.meta.dirname!, "..");

type Report = ReturnType<typeof analyse>["reports"][number];

export default {
  name: "regexps",
  rules: {
    "linear-time": {
      create(context) {
        if (TRUSTED.test(relative(ROOT, context.filename))) return {};
        const check = (node: Deno.lint.Node, source: string, flags: string) => {
          for (const message of findingsOf(source, flags)) context.report({ node, message });
        };
        const checkConstruction = (node: Deno.lint.CallExpression | Deno.lint.NewExpression) => {
          if (node.callee.type !== "Identifier" || node.callee.name !== "RegExp") return;
          const source = stringOf(node.arguments[0]);
          if (source !== null) check(node, source, stringOf(node.arguments[1]) ?? "");
        };
        return {
          Literal(node) {
            if ("regex" in node && node.regex) check(node, node.regex.pattern, node.regex.flags);
          },
          CallExpression: checkConstruction,
          NewExpression: checkConstruction,
        };
      },
    },
  },
} satisfies Deno.lint.Plugin;

/** One sentence for each part of the pattern that can take more than linear time. */
function findingsOf(source: string, flags: string): string[] {
  try {
    // A match that succeeds costs as much as its failure where the pattern is searched for again.
    const { reports } = analyse({ source, flags }, { assumeRejectingSuffix: false });
    return reports.map(describe);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [`This regular expression cannot be analysed (${reason}). Write it more simply.`];
  }
}

function describe(report: Report): string {
  const growth = report.exponential ? "exponential" : "quadratic";
  const { source, flags } = report.character.literal;
  return `This regular expression takes ${growth} time on many repetitions of /${source}/${flags}: ` +
    `${
      partsOf(report)
    }. Search by index (indexOf, a loop), anchor it, or bound the repetition ({0,64}).`;
}

function partsOf(report: Report): string {
  switch (report.type) {
    case "Self":
      return `${report.quant.raw} repeats what repeats itself`;
    case "Trade":
      return `${report.startQuant.raw} and ${report.endQuant.raw} share them in every way`;
    case "Move":
      return `${report.quant.raw} is tried anew from each place`;
  }
}

function stringOf(node: Deno.lint.Node | undefined): string | null {
  return node?.type === "Literal" && typeof node.value === "string" ? node.value : null;
}
