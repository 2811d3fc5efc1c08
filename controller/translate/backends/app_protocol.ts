/**
 * How a backend wants to be spoken to. In: `appProtocol` of a Service's port. Out: the protocol of
 * its upstream, and whether that is what was asked for or what is left for a name that says nothing
 * here.
 *
 * https://kubernetes.io/docs/concepts/services-networking/service/#application-protocol and
 * KEP-3726, which defines the names of `kubernetes.io`.
 */
import type { Upstream } from "../../../shared/snapshot/types.ts";
import { describe, isAbsent, quote } from "../../base/json.ts";
import type { ProblemText } from "../../base/problems.ts";

type Protocol = Upstream["protocol"];

/**
 * By name in lower case: RFC 6335 §5.1 compares names of services without regard to case, and other
 * controllers do so with theirs. Names without a prefix that stand in no registry are theirs.
 */
export const APP_PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ["http", "http"],
  ["ws", "http"],
  ["kubernetes.io/ws", "http"],
  ["grpc-web", "http"],
  ["https", "https"],
  ["wss", "https"],
  ["kubernetes.io/wss", "https"],
  ["kubernetes.io/h2c", "h2c"],
  ["h2c", "h2c"],
  ["http2", "h2c"],
  ["grpc", "h2c"],
  ["h2", "h2"],
  ["grpcs", "h2"],
]);

/** What others call by a prefix of their own, where HTTP/1.1 in plain text would surely fail. */
const LOOKALIKES: ReadonlyMap<string, string> = new Map([
  ["h2c", "kubernetes.io/h2c"],
  ["http2", "kubernetes.io/h2c"],
  ["grpc", "kubernetes.io/h2c"],
  ["https", "https"],
  ["tls", "https"],
  ["wss", "kubernetes.io/wss"],
  ["h2", "h2"],
  ["grpcs", "grpcs"],
]);

/** HTTP/1.1 in plain text for anything else, which is what most Services mean by saying nothing. */
export function readAppProtocol(appProtocol: unknown): Protocol {
  return typeof appProtocol === "string"
    ? APP_PROTOCOLS.get(appProtocol.toLowerCase()) ?? "http"
    : "http";
}

/**
 * What is wrong with a name that is not known, null for nothing. Names with a prefix are for the
 * program that is named by it, so they are nobody else's mistake unless they look like one.
 */
export function appProtocolMistake(appProtocol: unknown): ProblemText | null {
  if (isAbsent(appProtocol) || appProtocol === "") return null;
  if (typeof appProtocol !== "string") return mistake(describe(appProtocol), EXPECTED);
  const name = appProtocol.toLowerCase();
  if (APP_PROTOCOLS.has(name)) return null;
  const slash = name.indexOf("/");
  const meant = LOOKALIKES.get(name.slice(slash + 1));
  const isForOthers = slash !== -1 && !name.startsWith("kubernetes.io/");
  if (isForOthers && meant === undefined) return null;
  return mistake(quote(appProtocol), meant === undefined ? EXPECTED : `Write ${meant}`);
}

const EXPECTED =
  "Write https, kubernetes.io/h2c, grpc, grpcs or the like (docs/http2.md has all), or take it off";

function mistake(shown: string, remedy: string): ProblemText {
  return {
    reason: "AppProtocolUnknown",
    message: `${shown} is not a supported protocol, so HTTP/1.1 without TLS is used`,
    remedy,
  };
}
