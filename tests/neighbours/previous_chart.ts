/**
 * The chart of the version before. In: the chart. Out: a folder with a copy of it that has an older
 * version, since none has been released; what an upgrade changes is the version, the images that
 * follow from it, and whatever the copy lacks.
 */
import { join } from "node:path";
import { CHART } from "../../tools/chart/chart_files.ts";
import { ROOT } from "./helm.ts";

export interface PreviousChart extends AsyncDisposable {
  readonly folder: string;
  readonly version: string;
}

/** Before every release. */
const VERSION = "0.0.9";

export async function previousChart(): Promise<PreviousChart> {
  const root = await Deno.makeTempDir({ prefix: "pingress-chart-" });
  const folder = join(root, "pingress");
  await copy(join(ROOT, CHART), folder);
  const file = join(folder, "Chart.yaml");
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(file, text.replace(/^((?:appV|v)ersion): .*$/gm, `$1: ${VERSION}`));
  // The controller is that of the current version, which has another default for its proxies.
  const values = join(folder, "values.yaml");
  const old = await Deno.readTextFile(values);
  await Deno.writeTextFile(values, old.replace('\n  tag: ""\n', `\n  tag: ${VERSION}\n`));
  // Something that the newer version adds.
  await Deno.remove(join(folder, "templates", "network-policies.yaml"));
  return {
    folder,
    version: VERSION,
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copy(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}
