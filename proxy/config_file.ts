/**
 * Reading one configuration file. In: its path. Out: its text, or what stands in the way and what
 * to do about it; and stamps that tell cheaply whether a file may have changed.
 */

export type FileReading =
  | { readonly ok: true; readonly text: string; readonly stamp: string }
  | {
    readonly ok: false;
    /** One clause without a full stop, about "the file". */
    readonly message: string;
    readonly remedy: string;
    readonly stamp: string;
  };

/** Bytes; far more than 10,000 routes take, and far below V8's limit. */
export const MAX_CONFIG_FILE = 256 * 1024 * 1024;

/** Milliseconds within which a file may change again without a change of its times. */
const CLOCK_TICK = 100;

/** Never rejects. */
export async function readConfigFile(path: string): Promise<FileReading> {
  let stamp = "";
  try {
    const info = await Deno.stat(path);
    // What was written just now may be written again without a change of its times: then this
    // stamp is no file's, so that it is read once more.
    const settled = Math.abs(Date.now() - (info.mtime?.getTime() ?? 0)) > CLOCK_TICK;
    stamp = settled ? toStamp(info) : `${toStamp(info)} unsettled`;
    if (info.isDirectory) {
      const remedy = "name a file in it, such as proxy.json";
      return { ok: false, message: "it is a folder", remedy, stamp };
    }
    if (!info.isFile) {
      return { ok: false, message: "it is not a regular file", remedy: "name one", stamp };
    }
    if (info.size > MAX_CONFIG_FILE) {
      const message = `it has ${info.size} bytes, more than ${MAX_CONFIG_FILE}`;
      return { ok: false, message, remedy: "write a smaller one", stamp };
    }
    const bytes = await Deno.readFile(path);
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), stamp };
  } catch (error) {
    return { ok: false, ...describeReadError(error, path), stamp };
  }
}

/**
 * A text that differs when the file has been replaced or written, following links; "" for a file
 * that is missing or out of reach. Never rejects.
 */
export async function stampOf(path: string): Promise<string> {
  try {
    return toStamp(await Deno.stat(path));
  } catch {
    return "";
  }
}

function toStamp({ dev, ino, size, mtime }: Deno.FileInfo): string {
  return `${dev} ${ino} ${size} ${mtime?.getTime()}`;
}

function describeReadError(error: unknown, path: string): { message: string; remedy: string } {
  if (error instanceof Deno.errors.NotFound) {
    return { message: "it does not exist", remedy: "create it, or correct the path" };
  }
  if (error instanceof Deno.errors.NotCapable) {
    const message = "Deno was started without the permission to read it";
    return { message, remedy: `add --allow-read=${path}` };
  }
  if (error instanceof Deno.errors.PermissionDenied) {
    const remedy = "give the proxy's user the right to read it and to enter its folders";
    return { message: "the system does not allow reading it", remedy };
  }
  if (error instanceof Deno.errors.NotADirectory) {
    return { message: "a part of its path is not a folder", remedy: "correct the path" };
  }
  if (error instanceof TypeError) {
    return { message: "it is not UTF-8 text", remedy: "write it as UTF-8" };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { message, remedy: "make it readable for the proxy" };
}
