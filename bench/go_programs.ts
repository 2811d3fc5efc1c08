/**
 * Loads and backends of the benchmark that are written in Go (`programs/`): with a thousand
 * connections, those in Deno were slower and less fair than the proxies. In: names. Out: executables,
 * built once for each version of their sources, or why there are none.
 */
import { basename, dirname } from "node:path";
import { findProgram, type OwnProgram } from "../tests/peers/go_program.ts";
import type { Found } from "./found.ts";

export type GoProgramName = "backend" | "event_load" | "websocket_load";

const SOURCES = new URL("programs", import.meta.url).pathname;

export function goProgramOf(name: GoProgramName): OwnProgram {
  return { name, sources: SOURCES };
}

/** Builds what is not there yet, in a minute or two; the version is that of the first one's sources. */
export async function findGoPrograms(...names: readonly GoProgramName[]): Promise<Found> {
  const paths: string[] = [];
  for (const name of names) {
    const found = await findProgram(goProgramOf(name));
    if ("missing" in found) return { kind: "missing", remedy: found.missing };
    paths.push(found.path);
  }
  return { kind: "found", version: basename(dirname(paths[0])) };
}

/** The executable; throws with the remedy where it is missing. */
export async function goProgram(name: GoProgramName): Promise<string> {
  const found = await findProgram(goProgramOf(name));
  if ("missing" in found) throw new Error(found.missing);
  return found.path;
}
