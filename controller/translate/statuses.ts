/**
 * The statuses of all Ingresses. In: what became of their paths and TLS entries, and their problems.
 * Out: one status for each, sorted by namespace and name; no more are made than changed.
 */
import { keyOf } from "../base/identity.ts";
import { LastResult } from "../base/memo.ts";
import type { ProblemList } from "../base/problems.ts";
import type { Routing } from "./routes/routes.ts";
import { SortedList } from "../base/sorted_list.ts";
import type { IngressStatus } from "./model/status.ts";
import { compareText } from "../base/text_order.ts";
import type { TlsLayout } from "./certificates/tls.ts";
import type { Source, SourceList } from "./model/source.ts";

/** What statuses are decided by, together with the problems of making it. */
export interface StatusInputs {
  readonly list: SourceList;
  readonly routing: Routing;
  readonly tls: TlsLayout;
}

interface Marked {
  readonly statuses: readonly IngressStatus[];
  readonly unaddressed: ReadonlySet<string>;
}

interface Statuses {
  /** In the order of the Ingresses. */
  readonly each: readonly IngressStatus[];
  readonly sorted: readonly IngressStatus[];
}

export class StatusCollector {
  readonly #marks = new LastResult<Marked, readonly IngressStatus[]>();
  readonly #markedOnes = new WeakMap<IngressStatus, IngressStatus>();
  readonly #last = new LastResult<StatusInputs, Statuses>();
  readonly #byName = new SortedList<IngressStatus>((a, b) =>
    compareText(keyOf(a.object), keyOf(b.object))
  );

  /**
   * The very same list as before where nothing changed.
   *
   * @param unaddressed Keys of Ingresses that get no addresses of ours.
   */
  collect(
    inputs: StatusInputs,
    unaddressed: ReadonlySet<string>,
    problems: ProblemList,
  ): readonly IngressStatus[] {
    const statuses = this.#collect(inputs, problems);
    return unaddressed.size === 0 ? statuses : this.#mark({ statuses, unaddressed });
  }

  #mark(inputs: Marked): readonly IngressStatus[] {
    const { statuses, unaddressed } = inputs;
    const last = this.#marks.last;
    if (last?.inputs.statuses === statuses && last.inputs.unaddressed === unaddressed) {
      return last.result;
    }
    return this.#marks.keep(
      inputs,
      statuses.map((status) =>
        unaddressed.has(keyOf(status.object)) ? this.#marked(status) : status
      ),
    );
  }

  #marked(status: IngressStatus): IngressStatus {
    const known = this.#markedOnes.get(status);
    if (known !== undefined) return known;
    const marked = { ...status, addresses: "off" } as const;
    this.#markedOnes.set(status, marked);
    return marked;
  }

  #collect(inputs: StatusInputs, problems: ProblemList): readonly IngressStatus[] {
    const before = this.#last.last;
    const each = before === null || before.inputs.list.hasDuplicates || inputs.list.hasDuplicates
      ? inputs.list.ingresses.map((ingress, i) => statusOf(inputs, ingress, i, problems))
      : changedStatuses(inputs, before.inputs, before.result.each, problems);
    return this.#last.keep(inputs, { each, sorted: this.#byName.of(each) }).sorted;
  }
}

/**
 * An Ingress whose paths and TLS entries have the very outcomes of before has errors only if it had
 * some: they are found together with the outcomes of paths, and those of TLS entries imply them.
 */
function changedStatuses(
  inputs: StatusInputs,
  before: StatusInputs,
  statuses: readonly IngressStatus[],
  problems: ProblemList,
): IngressStatus[] {
  const ingresses = before.list.ingresses;
  // Only shifts a little: both lists are in order, and hardly differ.
  let shift = 0;
  return inputs.list.ingresses.map((ingress, i) => {
    const at = placeOf(ingress, ingresses, i + shift);
    if (at === -1) return statusOf(inputs, ingress, i, problems);
    shift = at - i;
    return inputs.routing.statuses[i] === before.routing.statuses[at] &&
        inputs.tls.statuses[i] === before.tls.statuses[at]
      ? statuses[at]
      : statusOf(inputs, ingress, i, problems);
  });
}

const REACH = 4;

/** Near `expected`, or -1; not to be found costs no more than making a status. */
function placeOf(
  ingress: Source,
  ingresses: readonly Source[],
  expected: number,
): number {
  if (ingresses[expected] === ingress) return expected;
  for (let distance = 1; distance <= REACH; distance++) {
    if (ingresses[expected + distance] === ingress) return expected + distance;
    if (ingresses[expected - distance] === ingress) return expected - distance;
  }
  return -1;
}

function statusOf(
  { routing, tls }: StatusInputs,
  { identity, status }: Source,
  i: number,
  problems: ProblemList,
): IngressStatus {
  const hasErrors = problems.hasErrors(identity.label);
  return status.of(identity.ref, routing.statuses[i], tls.statuses[i], hasErrors);
}
