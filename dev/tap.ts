/**
 * The access log of `deno task dev --tap`. In: lines of the proxy's access log, in JSON. Out: an entry for
 * each request, and a line of text for one: when, method, host, path without query, status, how long, which backend, and why where
 * the response is the proxy's own. Headers and queries, which may be secret, are not in it.
 */
import { ERROR_KINDS, type ErrorCode } from "../shared/error_kinds.ts";
import { LineOutput, type Logger } from "../shared/log.ts";

/** What is shown of a line; see `ACCESS_LOG_FIELDS`. */
export interface AccessEntry {
  readonly time: string;
  readonly method?: string;
  readonly host?: string;
  readonly path?: string;
  readonly status?: number;
  readonly durationMs: number;
  readonly route?: string;
  readonly upstream?: string;
  readonly endpoint?: string;
  readonly error?: ErrorCode;
}

export interface Tap {
  readonly request: (entry: AccessEntry) => void;
  /** @param lines How many were dropped, as they came too fast. */
  readonly dropped: (message: string, lines: number) => void;
}

export function tapOutput({ request, dropped }: Tap): LineOutput {
  const decoder = new TextDecoder();
  return new LineOutput({
    // Batches hold whole lines.
    write(bytes) {
      for (const line of decoder.decode(bytes).split("\n")) {
        const entry = line === "" ? null : JSON.parse(line);
        if (entry?.log === "access") request(entry);
        else if (entry !== null) dropped(entry.message, entry.count);
      }
      return Promise.resolve(bytes.length);
    },
  });
}

/** Without entries on single requests, which have their lines. */
export function withoutRequests(log: Logger): Logger {
  return {
    ...log,
    warn(message, fields) {
      if (message !== "Request failed") log.warn(message, fields);
    },
  };
}

/**
 * `21:30:23 GET app.example.com/api 200 3 ms → default/api:80 (127.0.0.1:3000)`.
 * @param reasonOf Why a route responds itself, by its id; null where it does not.
 */
export function formatEntry(
  entry: AccessEntry,
  reasonOf: (route: string) => string | null,
): string {
  const { time, method = "-", host = "", path = "", status, durationMs } = entry;
  return [
    clockTime(time),
    method,
    `${host}${path}` || "-",
    status === undefined ? "client closed" : String(status),
    `${durationMs < 10 ? durationMs.toFixed(1) : Math.round(durationMs)} ms`,
    backendText(entry),
    reasonText(entry, reasonOf),
  ].filter((part) => part !== "").join(" ");
}

function backendText({ upstream, endpoint }: AccessEntry): string {
  if (upstream === undefined) return "";
  return `→ ${upstream}${endpoint === undefined ? "" : ` (${endpoint})`}`;
}

function reasonText(
  { route, endpoint, error, status }: AccessEntry,
  reasonOf: (route: string) => string | null,
): string {
  if (error !== undefined) {
    const reason = route === undefined || endpoint !== undefined ? null : reasonOf(route);
    return `${error}: ${reason ?? ERROR_KINDS[error]?.text ?? ""}`;
  }
  if (endpoint !== undefined || status === undefined) return "";
  return status < 400 && status >= 300 ? "redirect of Pingress" : "response of Pingress";
}

/** Of this machine's time zone. */
function clockTime(time: string): string {
  return new Date(time).toTimeString().slice(0, 8);
}
