/**
 * What is counted for a Service: attempts at its endpoints. In: indices of what is counted. Out: the
 * cell of each within the slot of the Service.
 */

/** Attempts by class of status as in `STATUS_CLASSES`; the first is for those without a response. */
const RESPONSES = [4, 5, 1, 6, 7, 8] as const;
/** By bucket as in `DURATION_BOUNDS`, and beyond. */
const DURATIONS = [2, 3, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18] as const;

/** The sum of microseconds, which stands beside what most attempts count in: 2xx and the first buckets. */
export const SERVICE_DURATION_SUM = 0;
/** Endpoints that this worker has ejected: a gauge, which is never folded or summed. */
export const SERVICE_EJECTED = 19;
/** 160 bytes. */
export const SERVICE_CELLS = 20;

/** @param status class of status, by its index. */
export function responseCell(status: number): number {
  return RESPONSES[status];
}

export function serviceDurationCell(bucket: number): number {
  return DURATIONS[bucket];
}

/** @param index of the slot in its chunk. */
export function serviceCellAt(index: number, cell: number): number {
  return index * SERVICE_CELLS + cell;
}

/** Adds a chunk to another, but for gauges. */
export function foldService(own: Float64Array, other: Float64Array): void {
  for (let i = 0; i < other.length; i++) {
    if (other[i] !== 0 && i % SERVICE_CELLS !== SERVICE_EJECTED) own[i] += other[i];
  }
}

/** Makes a slot count from nothing: what has been `counted` in it elsewhere is taken off. */
export function clearService(
  base: Float64Array,
  index: number,
  counted: readonly Float64Array[],
): void {
  for (let cell = 0; cell < SERVICE_CELLS; cell++) {
    if (cell === SERVICE_EJECTED) continue;
    const place = serviceCellAt(index, cell);
    base[place] = 0;
    for (const cells of counted) base[place] -= cells[place];
  }
}
