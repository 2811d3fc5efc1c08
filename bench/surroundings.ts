/**
 * What a run needs besides proxies and load. In: the work. Out: its result, with backend, certificate
 * and folder there while it lasts, and nothing left of them after it, an interruption included.
 */
import { join } from "node:path";
import { startBackend } from "./backend.ts";
import { endAll } from "./child.ts";
import { type Surroundings } from "./start.ts";
import { makeTlsFiles } from "./tls.ts";

export async function withSurroundings<T>(
  work: (surroundings: Surroundings) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  endWhenAsked(folder);
  try {
    // Programs that drop root's rights must be able to pass.
    await Deno.chmod(folder, 0o755);
    const tls = await makeTlsFiles(folder);
    const backendFolder = join(folder, "backend");
    await Deno.mkdir(backendFolder);
    const backend = startBackend(backendFolder);
    try {
      return await work({ backend, tls, folder });
    } finally {
      await backend.stop();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Whoever interrupts a run wants nothing of it to go on. */
function endWhenAsked(folder: string): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(name, () => {
      endAll();
      Deno.removeSync(folder, { recursive: true });
      Deno.exit(130);
    });
  }
}
