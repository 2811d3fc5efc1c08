/**
 * The listeners that every proxy has: those of its own ports. In: nothing. Out: their ids.
 */

/** Routes that name no listener are on these. */
export const BUILT_IN_LISTENERS: ReadonlySet<string> = new Set(["http", "https"]);
