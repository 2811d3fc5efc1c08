/**
 * What a request is to a backend that merges slashes and decodes `%2F`. In: a request, and its canonical
 * path. Out: the same with the decoded path; null where that is the path as it is.
 */
import { decodedPath, escapedPath } from "../../shared/path/decoded_path.ts";
import type { MatchedRequest } from "./request_view.ts";

export interface DecodedRequest {
  /** Canonical. */
  readonly path: string;
  readonly request: MatchedRequest;
}

export function decodedRequest(path: string, request: MatchedRequest): DecodedRequest | null {
  const decoded = decodedPath(request.received || path, true);
  if (decoded === null || decoded === path) return null;
  const received = escapedPath(decoded);
  if (received === path) return null;
  const { method, query } = request;
  return {
    path: received,
    // Routes of the profile nginx find the same: it decodes to what it was made of.
    request: { method, query, received, header: (name) => request.header(name) },
  };
}
