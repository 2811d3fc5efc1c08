/**
 * Reading the files of a configuration. In: a path. Out: its bytes or its text, unpacked where it
 * is gzip, or what stands in the way and what to do about it; and stamps that tell cheaply whether
 * a file may have changed.
 */
import { Buffer } from "node:buffer";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

/** What stands in the way. */
export interface Unreadable {
  readonly ok: false;
  /** One clause without a full stop, about "the file". */
  readonly message: string;
  readonly remedy: string;
}

export type FileReading =
  | { readonly ok: true; readonly text: string; readonly stamp: string }
  | Unreadable & {
    readonly stamp: string;
    /** There is no such file. */
    readonly missing: boolean;
  };

export type BytesReading =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly stamp: string }
  | Exclude<FileReading, { ok: true }>;

/** Bytes; far more than 10,000 routes take, and far below V8's limit. */
export const MAX_CONFIG_FILE = 256 * 1024 * 1024;

/** Milliseconds within which a file may change again without a change of its times. */
const CLOCK_TICK = 100;

/** The file as text. Never rejects. */
export async function readConfigFile(path: string): Promise<FileReading> {
  const reading = await readBytes(path);
  if (!reading.ok) return reading;
  const { stamp } = reading;
  const decoded = await decodeConfig(reading.bytes);
  return decoded.ok ? { ...decoded, stamp } : { ...decoded, stamp, missing: false };
}

/** The file as it is, of no more than `MAX_CONFIG_FILE`. Never rejects. */
export async function readBytes(path: string): Promise<BytesReading> {
  let stamp = "";
  const failed = (message: string, remedy: string): BytesReading => (
    { ok: false, message, remedy, stamp, missing: false }
  );
  try {
    const info = await Deno.stat(path);
    // What was written just now may be written again without a change of its times: then this
    // stamp is no file's, so that it is read once more.
    const settled = Math.abs(Date.now() - (info.mtime?.getTime() ?? 0)) > CLOCK_TICK;
    stamp = settled ? toStamp(info) : `${toStamp(info)} unsettled`;
    if (info.isDirectory) return failed("it is a folder", "name a file in it, such as proxy.json");
    if (!info.isFile) return failed("it is not a regular file", "name one");
    if (info.size > MAX_CONFIG_FILE) {
      const message = `it has ${info.size} bytes, more than ${MAX_CONFIG_FILE}`;
      return failed(message, "write a smaller one");
    }
    return { ok: true, bytes: await Deno.readFile(path), stamp };
  } catch (error) {
    const missing = error instanceof Deno.errors.NotFound;
    return { ok: false, ...describeReadError(error, path), stamp, missing };
  }
}

/** The text of bytes, which may be gzip (RFC 1952). Never rejects. */
export async function decodeConfig(
  bytes: Uint8Array,
): Promise<{ readonly ok: true; readonly text: string } | Unreadable> {
  let plain = bytes;
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    try {
      plain = await promisify(gunzip)(bytes, { maxOutputLength: MAX_CONFIG_FILE }) as Buffer;
    } catch (error) {
      const isBomb = error instanceof RangeError;
      const message = isBomb
        ? `it has more than ${MAX_CONFIG_FILE} bytes when it is unpacked`
        : `it is gzip that cannot be unpacked: ${error instanceof Error ? error.message : error}`;
      return { ok: false, message, remedy: isBomb ? "write a smaller one" : "write it anew" };
    }
  }
  try {
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(plain) };
  } catch {
    return { ok: false, message: "it is not UTF-8 text", remedy: "write it as UTF-8" };
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
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { message, remedy: "make it readable for the proxy" };
}
