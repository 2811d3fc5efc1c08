/** How users start `deno task dev`, and commands. In: nothing. Out: texts for remedies. */

/** How the task is started where it is to reach more than this machine. */
export const START_WITH_NETWORK = "deno run -P=dev --allow-net dev/main.ts";

/** How it is started without Deno installed, after the above. */
export const WITHOUT_DENO = " (npx -y deno@2.9 in place of deno where it is not installed)";

/** How a command is started that is to run a program which Pingress does not start by itself. */
export const START_WITH_PROGRAM = "deno run -P=pingress --allow-run=PROGRAM cli/main.ts …";
