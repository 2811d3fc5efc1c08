/** Generations of objects. In: an object of unknown shape. Out: the version of its spec. */
import { fieldOf } from "../../../base/json.ts";

/** `metadata.generation`; 0 in a folder, where there is none. */
export function generationOf(object: unknown): number {
  const generation = fieldOf(fieldOf(object, "metadata"), "generation");
  return Number.isSafeInteger(generation) ? generation as number : 0;
}
