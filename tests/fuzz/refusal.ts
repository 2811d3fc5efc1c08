/**
 * Why a peer refuses what we accept, as data. In: a peer's words for its refusal and our view of the
 * request. Out: a reason from the list, or null where there is none yet.
 *
 * Being stricter than we are, in something that changes no framing, is a peer's right; that all of
 * them are at once, for reasons not listed here, is a disagreement.
 */
import type { PeerName } from "./peer.ts";
import type { OwnRequest } from "./request_stream.ts";

interface Refusal {
  readonly peer: PeerName;
  /** What the peer says. */
  readonly says: RegExp;
  /** What the request must have besides; `raw` is its bytes. */
  readonly when?: (request: OwnRequest, raw: string) => boolean;
  readonly reason: string;
}

const EMPTY_LINE = "RFC 9112 §2.2 ignores one empty line before a request line; it does not";
const BLANK_EXTENSION = "RFC 9112 §7.1.1 takes blanks around a chunk extension; it does not";
const TRAILERS = "it acts on fields in trailers (RFC 9110 §6.5.1), where we discard them";
const CLOSES = "it takes the request for the connection's last";

const REFUSALS: readonly Refusal[] = [
  {
    peer: "llhttp",
    says: /^HPE_INVALID_METHOD/,
    when: ({ method }) => !LLHTTP_METHODS.has(method),
    reason: "it knows a list of methods only",
  },
  {
    peer: "llhttp",
    says: /^HPE_(INVALID_CONTENT_LENGTH|INVALID_TRANSFER_ENCODING|UNEXPECTED_CONTENT_LENGTH)/,
    when: isChunked,
    reason: TRAILERS,
  },
  {
    peer: "llhttp",
    says: /^HPE_INVALID_CHUNK_SIZE/,
    when: hasBlankExtension,
    reason: BLANK_EXTENSION,
  },
  { peer: "llhttp", says: /^(HPE_CLOSED_CONNECTION|Upgrade)/, reason: CLOSES },
  {
    peer: "h11",
    says: /^no request line received/,
    when: (_, raw) => raw.startsWith("\r\n"),
    reason: EMPTY_LINE,
  },
  { peer: "h11", says: /^illegal chunk header/, when: hasBlankExtension, reason: BLANK_EXTENSION },
  {
    peer: "h11",
    says: /Content-Length|Transfer-Encoding/,
    when: isChunked,
    reason: TRAILERS,
  },
  { peer: "h11", says: /^closed/, reason: CLOSES },
  {
    peer: "go",
    says: /^malformed HTTP request ""/,
    when: (_, raw) => raw.startsWith("\r\n"),
    reason: EMPTY_LINE,
  },
  {
    peer: "go",
    says: /^invalid byte in chunk length/,
    when: hasBlankExtension,
    reason: BLANK_EXTENSION,
  },
  {
    peer: "go",
    says: /^http: suspiciously long trailer/,
    when: isChunked,
    reason: "it takes trailers up to the 4 KiB of its buffer only",
  },
];

/** The reason for a refusal in these words of this request, or null. */
export function refusalReason(
  peer: PeerName,
  says: string,
  request: OwnRequest,
  raw: string,
): string | null {
  const refusal = REFUSALS.find((one) =>
    one.peer === peer && one.says.test(says) && (one.when?.(request, raw) ?? true)
  );
  return refusal === undefined ? null : `${peer}: ${refusal.reason}`;
}

function isChunked({ fields }: OwnRequest): boolean {
  return fields.some(([name]) => name.toLowerCase() === "transfer-encoding");
}

function hasBlankExtension(request: OwnRequest, raw: string): boolean {
  return isChunked(request) && /\r\n[0-9a-fA-F]+(;.*)?[ \t]*[ \t;=][ \t]*/.test(raw);
}

/** What Node's llhttp has, of those that we let through. */
const LLHTTP_METHODS: ReadonlySet<string> = new Set(
  ("DELETE GET HEAD POST PUT OPTIONS COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK BIND " +
    "REBIND UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE " +
    "PATCH PURGE MKCALENDAR LINK UNLINK SOURCE QUERY").split(" "),
);
