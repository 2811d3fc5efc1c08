/** How users of the npm package start `pingress dev`. In: nothing. Out: texts for remedies, in place of those of the task. */

export const START_WITH_NETWORK = "pingress --allow-net dev";

export const WITHOUT_DENO = "";

export const START_WITH_PROGRAM = "pingress --allow-run=PROGRAM …";
