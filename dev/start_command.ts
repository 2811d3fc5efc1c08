/** How users start `deno task dev`. In: nothing. Out: texts for remedies. */

/** How the task is started where it is to reach more than this machine. */
export const START_WITH_NETWORK = "deno run -P=dev --allow-net dev/main.ts";

/** How it is started without Deno installed, after the above. */
export const WITHOUT_DENO = " (npx -y deno@2.9 in place of deno where it is not installed)";
