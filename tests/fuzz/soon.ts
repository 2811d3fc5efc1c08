/** In: work on bytes in memory. Out: its result, or an error where it does not come to an end. */

/** In memory everything is there at once: what takes this long (ms) waits for what never comes. */
const HANG = 5_000;

export class HangError extends Error {
  constructor() {
    super("does not come to an end");
  }
}

/**
 * Rejects with a HangError when what `start` starts takes as long as only a wait for nothing does.
 * Settles once the event loop has turned: a rejection that nobody handles has ended the process by
 * then.
 */
export async function soon<T>(start: () => Promise<T>): Promise<T> {
  const result = await inTime(start());
  await new Promise((resolve) => setImmediate(resolve));
  return result;
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new HangError()), HANG);
  });
  try {
    return await Promise.race([work, hang]);
  } finally {
    clearTimeout(timer);
  }
}
