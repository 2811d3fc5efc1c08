/**
 * What is reported of a backend. In: what was found of it, and where it is named. Out: problems of the object
 * that names it.
 */
import type { Report } from "../../base/problems.ts";
import type { ServiceBackend } from "../model/backend_ref.ts";
import type { Finding } from "./backend_plan.ts";
import type { Fault } from "./fault.ts";

export function reportFinding(
  backend: ServiceBackend,
  finding: Finding,
  report: () => Report,
): void {
  const { fault } = finding;
  if (fault !== null) {
    report().error(fieldOfFault(fault, backend), {
      reason: fault.reason,
      message: `${fault.message}, so requests get ${fault.status}`,
      remedy: fault.remedy,
      facts: { ...fault.facts, status: fault.status },
    });
  }
  if (finding.upstream === null || finding.note === null) return;
  const { field, ...text } = finding.note;
  report().warning(field, text);
}

/** JSON path of what the fault is about. */
export function fieldOfFault({ at }: Fault, { nameField, portField }: ServiceBackend): string {
  return at === "port" ? portField : at === "name" ? nameField : at.field;
}
