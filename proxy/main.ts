/**
 * The proxy's program. In: the command line and signals. Out: a proxy, and the exit code.
 *
 * Signals are heard before the rest is loaded, which takes a good part of the start: unheard, they
 * end a program with 143, and the first process of a container not at all.
 */
import { onStopSignals } from "../shared/stop_signals.ts";

/** Nothing has begun that had to be finished. */
let stop = (): void => Deno.exit(0);
onStopSignals(() => stop());

const { startProxy } = await import("./process/launcher.ts");
stop = startProxy(Deno.args, Deno.env);
