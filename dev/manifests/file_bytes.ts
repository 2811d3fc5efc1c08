/** One file of manifests, as bytes. In: its name and bytes. Out: its objects and problems; none of what is no text. */
import type { Problem } from "../../shared/problem.ts";
import { decodeText } from "./encoding.ts";
import { type ManifestFile, parseManifestFile } from "./file.ts";

/** Never throws for what it holds. */
export function parseManifestBytes(file: string, bytes: Uint8Array): ManifestFile {
  const decoded = decodeText(bytes);
  return decoded.ok ? parseManifestFile(file, decoded.text) : unparsable(file, decoded);
}

/** A file without objects, and a problem that says why. */
export function unparsable(
  file: string,
  { message, remedy, line, column }: Pick<Problem, "message" | "remedy"> & {
    readonly line: number;
    readonly column: number;
  },
): ManifestFile {
  const problem: Problem = {
    object: null,
    field: "",
    reason: "NotParsable",
    message,
    remedy,
    severity: "error",
  };
  const problems = [{ problem, at: { file, line, column }, excerpt: null }];
  return { file, objects: [], documents: [], problems, whole: false, excerptAt: () => null };
}
