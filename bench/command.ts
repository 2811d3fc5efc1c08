/**
 * Runs a benchmark by its command line. In: what the arguments have come to, and the program. Out: exit
 * code 1 where the program fails, with its error; 2 for a bad command line, with what helps.
 */

type Parsed<O> =
  | { readonly kind: "ok"; readonly options: O }
  | { readonly kind: "help" | "error"; readonly text: string };

export async function runCommand<O>(
  parsed: Parsed<O>,
  program: (options: O) => Promise<void>,
): Promise<void> {
  if (parsed.kind === "ok") {
    await program(parsed.options).catch((error: Error) => {
      console.error(error.message);
      Deno.exit(1);
    });
  } else {
    console[parsed.kind === "help" ? "log" : "error"](parsed.text);
    if (parsed.kind === "error") Deno.exit(2);
  }
}
