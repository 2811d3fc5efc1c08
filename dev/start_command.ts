/** How users start `deno task dev`. In: nothing. Out: texts for remedies. */

/** How the task is started where it is to reach more than this machine. */
export const START_WITH_NETWORK = "deno run -P=dev --allow-net dev/main.ts";

/** The same without Deno installed. */
export const NPX = "npx -y deno@2.9";
