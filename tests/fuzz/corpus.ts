/**
 * The streams that are kept. In: the folder `corpus/`, a file a stream as it goes over the wire. Out:
 * the streams, always in the same order, and new files for finds.
 */
import { createHash } from "node:crypto";

/** `requests`: what clients send. `responses`: what backends send. */
export type CorpusName = "requests" | "responses";

export interface CorpusEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

function folderOf(corpus: CorpusName): URL {
  return new URL(`corpus/${corpus}/`, import.meta.url);
}

export function readCorpus(corpus: CorpusName): CorpusEntry[] {
  const folder = folderOf(corpus);
  return [...Deno.readDirSync(folder)]
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".http"))
    .sort()
    .map((name) => ({ name, bytes: Deno.readFileSync(new URL(name, folder)) }));
}

/** Keeps a stream; the path of its file, which is the same for the same stream. */
export function keep(corpus: CorpusName, kind: string, bytes: Uint8Array): string {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const file = new URL(`${kind}_${hash}.http`, folderOf(corpus));
  Deno.writeFileSync(file, bytes);
  return file.pathname;
}
