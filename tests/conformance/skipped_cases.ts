/**
 * Cases that are not run though their features are supported. In: nothing. Out: the reason of each.
 *
 * A case whose features are not supported does not stand here: the suite skips it by the features in the
 * status of the GatewayClass. A report lists what stands here as skipped.
 */

/** By name of the case: a sentence that says why, and what would have to change. */
export const SKIPPED_CASES: Readonly<Record<string, string>> = {};
