/**
 * Label selectors. In: one of unknown shape. Out: whether it selects labels; null for what cannot be read.
 *
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements
 */
import { asList, asObject, asText, fieldOf, isAbsent } from "../../../base/json.ts";
import { ObjectCache } from "../../../base/memo.ts";

type Labels = Readonly<Record<string, string>>;

export type LabelSelector = (labels: Labels) => boolean;

/**
 * An empty selector selects everything.
 *
 * What it says to labels is remembered as long as they live: every route of a namespace asks on every listener, and
 * a selector may have tens of thousands of values and requirements.
 */
export function readLabelSelector(value: unknown): LabelSelector | null {
  if (asObject(value) === null) return null;
  const requirements: LabelSelector[] = [];
  const written = fieldOf(value, "matchLabels");
  const matchLabels = isAbsent(written) ? {} : asObject(written);
  if (matchLabels === null) return null;
  for (const [name, wanted] of Object.entries(matchLabels)) {
    if (typeof wanted !== "string") return null;
    requirements.push((labels) => valueOf(labels, name) === wanted);
  }
  const expressions = fieldOf(value, "matchExpressions");
  for (const expression of isAbsent(expressions) ? [] : asList(expressions) ?? [null]) {
    const requirement = readExpression(expression);
    if (requirement === null) return null;
    requirements.push(requirement);
  }
  const answers = new ObjectCache((labels: Labels) => requirements.every((holds) => holds(labels)));
  return (labels) => answers.of(labels);
}

function readExpression(value: unknown): LabelSelector | null {
  const key = asText(fieldOf(value, "key"));
  if (key === null) return null;
  const values = new Set<unknown>(
    (asList(fieldOf(value, "values")) ?? []).filter((each) => typeof each === "string"),
  );
  switch (fieldOf(value, "operator")) {
    case "In":
      return (labels) => values.has(valueOf(labels, key));
    case "NotIn":
      return (labels) => !values.has(valueOf(labels, key));
    case "Exists":
      return (labels) => valueOf(labels, key) !== undefined;
    case "DoesNotExist":
      return (labels) => valueOf(labels, key) === undefined;
    default:
      return null;
  }
}

function valueOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}
