/** Waiting for a condition. In: a question that is asked again and again. Out: its first answer. */
import { CI_PATIENCE } from "../../../tools/ci/patience.ts";

/** How long a condition is waited for unless a test says otherwise, in ms; on a busy machine, longer. */
export const PATIENCE = 30_000 * CI_PATIENCE;

/** Between two questions, in ms. */
const PAUSE = 50;

/**
 * Asks until the answer is neither `false`, `null` nor `undefined`, and gives it; gives the last
 * answer when `patience` ms are over. What the question throws, this throws.
 */
export async function waitFor<T>(ask: () => Promise<T> | T, patience = PATIENCE): Promise<T> {
  const end = performance.now() + patience;
  for (;;) {
    const answer = await ask();
    if (isThere(answer) || performance.now() > end) return answer;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

/** The same, for tests: throws `no WHAT` when `patience` ms are over. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T> | T,
  patience = PATIENCE,
): Promise<NonNullable<T>> {
  const answer = await waitFor(ask, patience);
  if (!isThere(answer)) throw new Error(`no ${what} within ${patience} ms`);
  return answer;
}

/** Whether an answer is one. */
export function isThere<T>(answer: T): answer is NonNullable<T> {
  return answer !== false && answer !== null && answer !== undefined;
}
