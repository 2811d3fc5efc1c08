/**
 * The program of the controller's image. In: the command line. Out: the controller; with `check`
 * first, `pingress check` of the installation, as `helm test` runs it in a pod of its own.
 *
 * Either is loaded when it runs, so that the controller has nothing of the other in its memory.
 */
export {};

const [command, ...args] = Deno.args;
if (command === "check") {
  const [{ main }, { processTerminal }] = await Promise.all([
    import("../check/main.ts"),
    import("../terminal/terminal.ts"),
  ]);
  Deno.exit(await main(args, processTerminal((name) => Deno.env.get(name))));
} else {
  await import("../../controller/main.ts");
}
