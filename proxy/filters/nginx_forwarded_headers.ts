/**
 * Headers that upstreams of ingress-nginx know the client by, where it says more than we do. In: a request
 * that `forwarded_headers.ts` has prepared. Out: X-Request-ID as the client has sent it, X-Scheme and
 * X-Forwarded-Scheme beside X-Forwarded-Proto, and what the client itself said in X-Forwarded-For as
 * X-Original-Forwarded-For, which no one should trust.
 *
 * After `proxy_set_header` in rootfs/etc/nginx/template/nginx.tmpl of k8s.io/ingress-nginx.
 */
import { asciiBytes, type Fields, fieldsOf, X_FORWARDED_PROTO } from "../http/fields.ts";
import { equalsLower } from "../http/letter_case.ts";
import { extended } from "../http/changed_fields.ts";
import { isRequestId } from "../http/request_id.ts";
import type { Filter } from "./filter.ts";

const REQUEST_ID = asciiBytes("x-request-id");
const FORWARDED_FOR = asciiBytes("x-forwarded-for");
const SET = ["x-scheme", "x-forwarded-scheme", "x-original-forwarded-for"].map(asciiBytes);

const HYPHEN = 0x2d;

function schemeLines(scheme: string): [name: string, value: string][] {
  return [["X-Forwarded-Scheme", scheme], ["X-Scheme", scheme]];
}

/** What most requests get: those of clients that send neither of the other headers. */
const BY_SCHEME: ReadonlyMap<string, Fields> = new Map(
  ["http", "https"].map((scheme) => [scheme, fieldsOf(schemeLines(scheme))]),
);

export const nginxForwardedHeaders: Filter = {
  request: (x) => {
    if (x.added === null) return null;
    const { request, record } = x;
    const { fields } = request;
    const proto = x.added.find(X_FORWARDED_PROTO);
    const scheme = proto === -1 ? "http" : x.added.value(proto);
    const chain = received(fields, FORWARDED_FOR).join(", ");
    const own = received(fields, REQUEST_ID).at(-1);
    const id = own !== undefined && isRequestId(own) ? own : null;
    const known = BY_SCHEME.get(scheme);
    if (known !== undefined && chain === "" && id === null) {
      // Nothing is copied: `added` is the connection's.
      request.extra = extended(request.extra, [], known);
    } else {
      const added = [...linesOf(x.added), ...schemeLines(scheme)];
      if (chain !== "") added.push(["X-Original-Forwarded-For", chain]);
      if (id !== null) {
        // It is the first one; see `requestIdOf`.
        added[0] = [added[0][0], id];
        record.requestId = id;
      }
      x.added = fieldsOf(added);
    }
    // Those of the client, in every spelling that backends may take for these.
    for (let i = 0; i < fields.count; i++) {
      if (SET.some((name) => isFolded(fields, i, name))) fields.drop(i);
    }
    return null;
  },
};

function linesOf(fields: Fields): [name: string, value: string][] {
  return Array.from({ length: fields.count }, (_, i) => [fields.name(i), fields.value(i)]);
}

/** What the client has sent under a name, which has been marked as ending here. */
function received(fields: Fields, name: Uint8Array): string[] {
  const values: string[] = [];
  for (let i = 0; i < fields.count; i++) {
    const start = fields.nameStart(i);
    if (fields.nameEnd(i) - start !== name.length) continue;
    if (equalsLower(fields.bytes, start, name)) values.push(fields.value(i));
  }
  return values.filter((value) => value !== "");
}

/** Whether a field has this name, whatever stands in place of its hyphens. */
function isFolded(fields: Fields, index: number, name: Uint8Array): boolean {
  const start = fields.nameStart(index);
  if (fields.nameEnd(index) - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) {
    const lower = fields.bytes[start + i] | 0x20;
    const isLetter = lower >= 0x61 && lower <= 0x7a;
    if (name[i] === HYPHEN ? isLetter : lower !== name[i]) return false;
  }
  return true;
}
