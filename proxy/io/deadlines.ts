/**
 * Every timeout of the data plane, checked by one timer. In: connections that know their own
 * deadlines. Out: `check(now)` calls, ten a second, but for those that rest.
 *
 * A deadline is a field that its owner writes; setting one costs nothing, and no timer is made for
 * a request. Sweeping 16,384 connections takes well under a millisecond.
 */
import { IntrusiveSet, type PlaceKeeper } from "./intrusive_set.ts";

export interface Deadlined {
  /** Kept by `Deadlines`; -1 at first. */
  deadlinePlace: number;
  /**
   * Ends what is overdue. `now` in ms, monotonic. Until when nothing of it can be, so that it need not
   * be looked at, unless it is stirred (`Deadlines.stir`); nothing where the next sweep is to look.
   */
  check(now: number): number | void;
}

/** Between two sweeps, and so how late a deadline may be noticed, in ms; twice that after a pause. */
export const SWEEP_INTERVAL = 100;

/**
 * Each is looked at once in this time, in ms, whatever it has said: one that was not stirred when it
 * should have been is late then, and not forgotten.
 */
export const LONGEST_REST = 1_000;

/** A sweep that comes so much later than the one before it, in ms, shows that all stood still. */
const STANDSTILL = 3 * SWEEP_INTERVAL;

export const NO_DEADLINE = Infinity;

/** Of places, when there are no entries yet. */
const FIRST_PLACES = 256;

export class Deadlines {
  /**
   * By the places of entries: until when they rest. Most do, and a sweep that had to look at each of a
   * thousand streams would cost a twentieth of all that their events do: none is in the caches.
   */
  #rests = new Float64Array(FIRST_PLACES);
  readonly #entries = new IntrusiveSet<Deadlined>(
    {
      get: (entry) => entry.deadlinePlace,
      set: (entry, place) => this.#place(entry, place),
    } satisfies PlaceKeeper<Deadlined>,
  );
  #timer: ReturnType<typeof setInterval> | null = null;
  #now = performance.now();
  #sweptAt = this.#now;
  /** The last sweep has looked at nothing. */
  #isLeftOut = false;

  /**
   * The time of the last sweep, in ms, monotonic: one interval old at most, unless the process has just stood
   * still.
   */
  get now(): number {
    // Without entries no sweep keeps it up to date.
    if (this.#timer === null) this.refresh();
    return this.#now;
  }

  /** The moment `timeout` ms from now, rounded up so that none comes early. 0 is no deadline. */
  in(timeout: number): number {
    return this.after(this.now, timeout);
  }

  /** What `in(timeout)` was when `now` was `since`. */
  after(since: number, timeout: number): number {
    return timeout === 0 ? NO_DEADLINE : since + timeout + SWEEP_INTERVAL;
  }

  /** When `in(timeout)` was asked that gave `deadline`; at most one interval too early. */
  since(deadline: number, timeout: number): number {
    return deadline - timeout - SWEEP_INTERVAL;
  }

  add(entry: Deadlined): void {
    this.#entries.add(entry);
    if (this.#timer === null) {
      this.refresh();
      this.#sweptAt = this.#now;
      this.#timer = setInterval(() => this.#sweep(), SWEEP_INTERVAL);
    }
  }

  /** The next sweep is to look at it: it has a new deadline, or is to be measured. */
  stir({ deadlinePlace }: Deadlined): void {
    if (deadlinePlace !== -1) this.#rests[deadlinePlace] = 0;
  }

  delete(entry: Deadlined): void {
    this.#entries.delete(entry);
    if (this.#entries.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }

  /** Makes it now: before deadlines that are short, and rarely set. */
  refresh(): void {
    this.#now = performance.now();
  }

  /**
   * Who has stood still (for a collection, for want of CPU, frozen) fires its timers first and reads
   * afterwards: what came in time meanwhile would be late, unread. So one sweep is left out then;
   * not two in turn, or deadlines would mean nothing to a process that is always late.
   */
  #sweep(): void {
    const before = this.#sweptAt;
    this.refresh();
    this.#sweptAt = this.#now;
    this.#isLeftOut = !this.#isLeftOut && this.#now - before > STANDSTILL;
    if (this.#isLeftOut) return;
    this.#entries.visit(this.#look, this.#isDue);
  }

  readonly #isDue = (place: number): boolean => this.#rests[place] <= this.#now;

  readonly #look = (entry: Deadlined): void => {
    const until = entry.check(this.#now);
    const { deadlinePlace } = entry;
    if (until === undefined || deadlinePlace === -1) return;
    this.#rests[deadlinePlace] = Math.min(until, this.#now + LONGEST_REST);
  };

  /** An entry is put at a place, or taken away (-1). */
  #place(entry: Deadlined, place: number): void {
    if (place !== -1) {
      if (place >= this.#rests.length) {
        const rests = new Float64Array(2 * this.#rests.length);
        rests.set(this.#rests);
        this.#rests = rests;
      }
      const before = entry.deadlinePlace;
      this.#rests[place] = before === -1 ? 0 : this.#rests[before];
    }
    entry.deadlinePlace = place;
  }
}
