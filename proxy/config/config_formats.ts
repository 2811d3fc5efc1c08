/**
 * The first file of a published configuration, in any format that can be read. In: the file that the
 * proxy was given. Out: the later one of it and the file of the format of today beside it.
 *
 * A controller publishes each format in files of its own. So a proxy that starts before the
 * controller of its version has published anything starts from format 1, and one that runs on after
 * a rollback of the controller follows what that publishes.
 */
import { basename, dirname, join } from "node:path";
import { readHead } from "../../shared/snapshot/head.ts";
import { configFileName, FORMAT_1_FILE } from "../../shared/snapshot/published_set.ts";
import { compareVersions } from "../../shared/snapshot/version_order.ts";
import { type FileReading, readConfigFile, stampOf } from "./config_file.ts";

export class ConfigFormats {
  readonly #file: string;
  /** Null where the file has a name that no controller publishes. */
  readonly #current: string | null;

  /** @param file Any format has its first file beside it where its name is `proxy.json`. */
  constructor(file: string) {
    this.#file = file;
    const isPublished = basename(file) === FORMAT_1_FILE;
    this.#current = isPublished ? join(dirname(file), configFileName(0)) : null;
  }

  /** The one to use, with a stamp of both. Never rejects. */
  async read(): Promise<FileReading> {
    let given = await readConfigFile(this.#file);
    if (this.#current === null) return given;
    const current = await readConfigFile(this.#current);
    // One format may have taken the other's place between the two.
    if (isMissing(given) && isMissing(current)) given = await readConfigFile(this.#file);
    const stamp = stampsOf(given, current);
    return { ...latestOf(given, current), stamp };
  }

  /** What `read` would give as its stamp; see `stampOf`. Never rejects. */
  async stamp(): Promise<string> {
    const given = { stamp: await stampOf(this.#file) };
    if (this.#current === null) return given.stamp;
    return stampsOf(given, { stamp: await stampOf(this.#current) });
  }
}

export function isMissing(reading: FileReading): boolean {
  return !reading.ok && reading.missing;
}

function stampsOf(given: { stamp: string }, current: { stamp: string }): string {
  return `${given.stamp}, ${current.stamp}`;
}

/** One that cannot be read counts unless it is missing: its problem is reported. */
function latestOf(given: FileReading, current: FileReading): FileReading {
  if (!current.ok) return current.missing ? given : current;
  const before = given.ok ? readHead(given.text) : null;
  const now = before === null ? null : readHead(current.text);
  const isGivenLater = before !== null && now !== null &&
    compareVersions(before.version, now.version) === "newer";
  return isGivenLater ? given : current;
}
