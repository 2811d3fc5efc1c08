/**
 * The streams that are kept. In: the folder `corpus/`, a file a stream as it goes over the wire. Out:
 * the streams, always in the same order, and new files for finds.
 */
import { createHash } from "node:crypto";

/** What clients send, and what backends send; of HTTP/1.1, and of HTTP/2; and header blocks. */
export type CorpusName =
  | "requests"
  | "responses"
  | "http2_clients"
  | "http2_backends"
  | "header_blocks";

export interface CorpusEntry {
  readonly name: string;
  readonly bytes: Uint8Array;
}

function folderOf(corpus: CorpusName): URL {
  return new URL(`corpus/${corpus}/`, import.meta.url);
}

function extensionOf(corpus: CorpusName): string {
  return corpus === "requests" || corpus === "responses" ? ".http" : ".h2";
}

export function readCorpus(corpus: CorpusName): CorpusEntry[] {
  const folder = folderOf(corpus);
  return [...Deno.readDirSync(folder)]
    .map(({ name }) => name)
    .filter((name) => name.endsWith(extensionOf(corpus)))
    .sort()
    .map((name) => ({ name, bytes: Deno.readFileSync(new URL(name, folder)) }));
}

/** Keeps a stream; the path of its file, which is the same for the same stream. */
export function keep(corpus: CorpusName, kind: string, bytes: Uint8Array): string {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const file = new URL(`${kind}_${hash}${extensionOf(corpus)}`, folderOf(corpus));
  Deno.writeFileSync(file, bytes);
  return file.pathname;
}
