/**
 * CRDs of the Prometheus operator. In: which kinds. Out: their YAML from its Go module, or why there
 * is none.
 */
import { join } from "node:path";
import { go, skip } from "../peers/go_program.ts";

const MODULE = "github.com/prometheus-operator/prometheus-operator@v0.85.0";
const FOLDER = "example/prometheus-operator-crd";

/** @param plurals `podmonitors`. Null where the module cannot be had: then `test` is skipped. */
export async function operatorCrds(
  test: string,
  plurals: readonly string[],
): Promise<string[] | null> {
  let folder: string;
  try {
    folder = JSON.parse(await go(["mod", "download", "-json", MODULE])).Dir;
  } catch (error) {
    return skip(test, error instanceof Error ? error.message : String(error));
  }
  return await Promise.all(
    plurals.map((plural) =>
      Deno.readTextFile(join(folder, FOLDER, `monitoring.coreos.com_${plural}.yaml`))
    ),
  );
}
