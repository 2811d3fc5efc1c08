/**
 * When a program at rest has given back what it will. In: a running program. Out: the moment at which
 * its memory stays as it is, or a bound has passed.
 */
import { type Child } from "./child.ts";

/** Between two looks, in ms. */
const PAUSE = 500;

/**
 * So long it must have stayed as it is. V8 collects what a burst of work has left behind some 12 s
 * after it: its timer for that takes eight, and what it starts then takes steps.
 */
const CALM = 15_000;

/** What may still come and go meanwhile. */
const SHARE = 0.01;

/** In ms. Idle connections of clients are closed after 60 s, by the defaults of some. */
const BOUND = 25_000;

/** Resolves at the bound too: memory that goes on growing is what the figure then shows. */
export async function settled(child: Child): Promise<void> {
  const looks: number[] = [];
  for (let waited = 0; waited < BOUND; waited += PAUSE) {
    looks.push(child.usage().memory);
    if (isCalm(looks.slice(-1 - CALM / PAUSE))) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

/** @param looks in bytes, one each half second. Fewer than fill 15 s are never calm. */
export function isCalm(looks: readonly number[]): boolean {
  const highest = Math.max(...looks);
  return looks.length > CALM / PAUSE && highest - Math.min(...looks) <= highest * SHARE;
}
