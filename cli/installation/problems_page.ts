/** The page `/problems` of a controller, of this version or another. In: its JSON. Out: its problems, typed. */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { Problem } from "../../shared/problem.ts";

export interface ShownProblem {
  /** `Ingress default/web`; null where it is of no object. */
  readonly object: string | null;
  readonly field: string;
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
  readonly severity: Problem["severity"];
}

/** What is no problem is left out. */
export function readProblemsPage(page: unknown): readonly ShownProblem[] {
  return (asList(fieldOf(page, "problems")) ?? []).flatMap((value) => {
    const reason = asText(fieldOf(value, "reason"));
    const message = asText(fieldOf(value, "message"));
    if (reason === null || message === null) return [];
    return [{
      ...{ reason, message },
      object: asText(fieldOf(value, "object")),
      field: asText(fieldOf(value, "field")) ?? "",
      remedy: asText(fieldOf(value, "remedy")) ?? "",
      severity: fieldOf(value, "severity") === "error" ? "error" as const : "warning" as const,
    }];
  });
}
