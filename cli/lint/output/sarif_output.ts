/**
 * Lint for code scanning. In: a result. Out: a log of SARIF 2.1.0 with one run.
 *
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 */
import { escapeUnsafe } from "../../../shared/log.ts";
import { VERSION } from "../../../shared/version.ts";
import type { Finding, LintResult, Verdict } from "../finding.ts";

const SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";

const LEVELS: Readonly<Record<Verdict, "error" | "warning" | "note">> = {
  OPENS: "error",
  BREAKS: "error",
  DIFFERS: "warning",
  SAME: "note",
};

interface Result {
  readonly ruleId: string;
  readonly level: "error" | "warning" | "note";
  readonly message: { readonly text: string };
  readonly locations: readonly unknown[];
  readonly properties?: Readonly<Record<string, string>>;
}

export function sarifOutput(result: LintResult): string {
  const results: Result[] = [
    ...result.cluster.flatMap((finding) => ofFinding("", finding)),
    ...result.ingresses.flatMap(({ name, findings }) =>
      findings.flatMap((finding) => ofFinding(`Ingress ${name}: `, finding))
    ),
    ...result.gatewayApi.flatMap(({ name, findings }) =>
      findings.flatMap((finding) => ofFinding(`${name}: `, finding))
    ),
  ];
  const rules = [...new Set(results.map(({ ruleId }) => ruleId))].sort();
  const log = {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [{
      tool: { driver: { name: "pingress-lint", version: VERSION, rules: rules.map(ruleOf) } },
      invocations: [{
        executionSuccessful: result.unreadable.length === 0,
        toolExecutionNotifications: [
          ...result.unreadable.map((problem) => ({ level: "error", ...problem })),
          ...result.notChecked.map((problem) => ({ level: "note", ...problem })),
        ].map(({ level, message, remedy, at }) => ({
          level,
          message: { text: `${message}. ${remedy}.` },
          locations: locationsOf(at),
        })),
      }],
      columnKind: "utf16CodeUnits",
      results,
    }],
  };
  return `${escapeUnsafe(JSON.stringify(log, null, 2))}\n`;
}

function ruleOf(id: string) {
  return { id, shortDescription: { text: id.replace("/", ": ") } };
}

function ofFinding(
  subject: string,
  { verdict, rule, effect, difference, remedy, field, at, lines }: Finding,
): Result[] {
  if (difference === null && remedy === null) return [];
  const texts = [
    effect,
    ...(difference === null ? [] : [difference]),
    ...(remedy === null ? [] : [remedy]),
    ...(lines ?? []).map(({ line, directive, remedy }) =>
      `line ${line} of the snippet, ${directive}: ${remedy}`
    ),
  ];
  return [{
    ruleId: rule,
    level: LEVELS[verdict],
    message: { text: `${subject}${texts.join(". ")}.` },
    locations: at === null && subject !== "" ? logicalLocation(subject, field) : locationsOf(at),
    properties: { verdict },
  }];
}

function locationsOf(at: Finding["at"]): unknown[] {
  return at === null ? [] : [{
    physicalLocation: {
      artifactLocation: { uri: uriOf(at.file) },
      region: { startLine: at.line, startColumn: at.column },
    },
  }];
}

/** Of a cluster's objects, which stand in no file. */
function logicalLocation(subject: string, field: string): unknown[] {
  const name = subject.replace(/: $/, "");
  const fullyQualifiedName = field === "" ? name : `${name} ${field}`;
  return [{ logicalLocations: [{ fullyQualifiedName, kind: "member" }] }];
}

/** Relative to where lint was started, as code scanning expects; "%" and spaces are escaped. */
function uriOf(file: string): string {
  const path = file.replaceAll("\\", "/").split("/").map(encodeURIComponent).join("/");
  return path.startsWith("/") ? `file://${path}` : path;
}
