/** A thousand slow clients beside a load, by `trickle_load.ts` in a process of its own. */
import { SpokenProgram } from "../spoken.ts";
import { type TrickleReport } from "../trickle_load.ts";
import type { Beside, Ongoing, Running } from "../model.ts";

const PROGRAM = new URL("../trickle_load.ts", import.meta.url).pathname;

const CLIENTS = 1_000;

/** Until all are connected, in ms. */
const PATIENCE = 20_000;

export const TRICKLERS: Beside = {
  async start({ target }: Running): Promise<Ongoing> {
    const { port } = target.address;
    const program = new SpokenProgram([
      ...[Deno.execPath(), "run", "--quiet", `--allow-net=127.0.0.1:${port}`, PROGRAM],
      ...[port, CLIENTS].map(String),
    ]);
    const timer = setTimeout(() => program.kill(), PATIENCE);
    await program.line();
    clearTimeout(timer);
    return {
      async stop() {
        await program.hush();
        const { errors, cut }: TrickleReport = JSON.parse(await program.line());
        await program.gone();
        if (cut > 0) console.log(`note: ${cut} slow clients were cut, and came back`);
        return { errors };
      },
    };
  },
};
