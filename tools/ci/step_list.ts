/**
 * The list of CI's steps. In: its text, one step a line. Out: the steps, or the first mistake.
 *
 *     # comment
 *     NAME | MINUTES | COMMAND
 *     NAME & | MINUTES | COMMAND              runs beside the steps that follow
 *     NAME & after OTHER | MINUTES | COMMAND  starts when OTHER has ended; or OTHER and ANOTHER
 *     NAME & in own session | …               in a session of its own; `after OTHER` may follow
 */

export interface Step {
  readonly name: string;
  /** Runs beside the steps that follow. */
  readonly beside: boolean;
  /** The names of earlier steps that must have ended. */
  readonly after: readonly string[];
  /** Runs in a session of its own, to which some kernels give its own share of the CPU. */
  readonly ownSession: boolean;
  /** The longest that the command may take. */
  readonly minutes: number;
  /** A line for bash. */
  readonly command: string;
}

const LINE = /^(?<name>[^|]+)\|(?<minutes>[^|]+)\|(?<command>.+)$/;

export function parseSteps(text: string): Step[] | { error: string } {
  const steps: Step[] = [];
  for (const line of text.split("\n").map((line) => line.trim())) {
    if (line === "" || line.startsWith("#")) continue;
    const columns = LINE.exec(line)?.groups;
    if (columns === undefined) return { error: `${line}: write NAME | MINUTES | COMMAND` };
    const { name, ...order } = parseName(columns.name.trim());
    const minutes = Number(columns.minutes);
    if (!(minutes > 0)) return { error: `${line}: the minutes must be a number above 0` };
    if (steps.some((step) => step.name === name)) {
      return { error: `${line}: two steps are named ${name}` };
    }
    const unknown = order.after.find((other) => !steps.some((step) => step.name === other));
    if (unknown !== undefined) return { error: `${line}: no earlier step is named ${unknown}` };
    steps.push({ name, ...order, minutes, command: columns.command.trim() });
  }
  return steps;
}

const OWN_SESSION = " in own session";

function parseName(text: string): Pick<Step, "name" | "beside" | "after" | "ownSession"> {
  const [beforeAfter, others] = text.split(" after ").map((part) => part.trim());
  const after = others === undefined ? [] : others.split(" and ").map((part) => part.trim());
  const ownSession = beforeAfter.endsWith(OWN_SESSION);
  const marked = ownSession ? beforeAfter.slice(0, -OWN_SESSION.length) : beforeAfter;
  const beside = marked.endsWith(" &");
  return { name: beside ? marked.slice(0, -2).trim() : marked, beside, after, ownSession };
}
