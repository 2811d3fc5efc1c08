/**
 * Who frames a stream how. In: what we and a peer made of the same stream. Out: for each request that
 * we accept, whether the peer agrees, differs or has nothing to say.
 */
import { canonicalPath } from "../../shared/path/canonical_path.ts";
import type { ParsedRequest, ParsedStream } from "./parsed.ts";
import type { PeerName } from "./peer.ts";
import type { OwnRequest, OwnStream } from "./request_stream.ts";

/**
 * `alike`: the same method, target, fields, body and end. `differs`: another one of these, or bytes
 * missing where the request is whole to us. `silent`: the peer has refused the stream, or closed the
 * connection, before.
 */
export type Vote = "alike" | "differs" | "silent";

/** One vote for each of our requests; after the first that is not `alike` comes nothing to compare. */
export function votesOf(
  peer: PeerName,
  ours: OwnStream,
  theirs: ParsedStream,
): Vote[] {
  const votes: Vote[] = [];
  let lost: Vote | null = null;
  for (const [index, request] of ours.requests.entries()) {
    if (lost === null) {
      const their = theirs.requests[index];
      if (their === undefined) {
        const waits = theirs.outcome === "incomplete" || theirs.outcome === "complete";
        lost = waits ? "differs" : "silent";
      } else if (differenceOf(peer, request, their) !== null) {
        lost = "differs";
      }
    }
    votes.push(lost ?? "alike");
  }
  return votes;
}

/** The first part in which two views of a request differ, or null. */
export function differenceOf(
  peer: PeerName,
  ours: OwnRequest,
  theirs: ParsedRequest,
): "method" | "target" | "fields" | "body" | "end" | null {
  if (ours.end !== theirs.end) return "end";
  if (ours.body !== theirs.body) return "body";
  if (ours.method !== theirs.method) return "method";
  if (ours.canonicalTarget !== canonicalTarget(theirs.target)) return "target";
  return comparable(peer, ours) === comparable(peer, theirs) ? null : "fields";
}

/** Origin-form of a target with its path made canonical; the target itself where that cannot be. */
function canonicalTarget(target: string): string {
  const parts = /^(?:https?:\/\/[^/?]*)?([^?]*)(.*)$/i.exec(target);
  const path = parts === null ? null : canonicalPath(parts[1] === "" ? "/" : parts[1]);
  return path !== null && path.ok ? path.path + parts![2] : target;
}

/** Go's net/http moves these out of the fields, or adds them (`Pragma: no-cache`). */
const MOVED_BY_GO: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "trailer",
  "cache-control",
]);

/** Fields in an order of their own (Go gives none between different names), codings in lower case. */
function comparable(peer: PeerName, { fields }: ParsedRequest): string {
  return fields
    .map(([name, value]) => {
      const lower = name.toLowerCase();
      return [lower, lower === "transfer-encoding" ? value.toLowerCase() : value] as const;
    })
    .filter(([name]) => peer !== "go" || !MOVED_BY_GO.has(name))
    .map(([name, value], index) => [name, index, value] as const)
    .sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1])
    .map(([name, , value]) => `${name}: ${value}\n`)
    .join("");
}
