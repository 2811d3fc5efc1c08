/**
 * Headers that a route sets, adds and removes. In: what the snapshot says. Out: a filter for requests
 * or for responses. The schema has refused names that belong to framing, to the connection or to the
 * proxy, and values that would end their line.
 */
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { changeResponse, extended, withoutNamed } from "../http/changed_fields.ts";
import { asciiBytes, type Fields, fieldsOf } from "../http/fields.ts";
import { FoldedNames } from "../http/folded_names.ts";
import type { Filter } from "./filter.ts";

/** Names in lower case whose fields end here, and the fields that come in their place or besides. */
interface Change {
  readonly names: readonly string[];
  /** The same as bytes. */
  readonly removed: readonly Uint8Array[];
  readonly fields: Fields;
}

type HeaderChange = Extract<FilterSpec, { readonly kind: "request-headers" | "response-headers" }>;

function changeOf({ set = [], add = [], remove = [] }: HeaderChange): Change {
  const names = [...remove, ...set.map(({ name }) => name)];
  return {
    names,
    removed: names.map(asciiBytes),
    fields: fieldsOf([...set, ...add].map(({ name, value }) => [name, value] as const)),
  };
}

/**
 * Changes what the upstream gets, `X-Forwarded-For` and the like included. A client's own end here in every
 * spelling that backends may take for these: `X.Role` is `X-Role` to CGI and its successors.
 */
export function requestHeaders(spec: HeaderChange): Filter {
  const { names, removed, fields } = changeOf(spec);
  const spellings = new FoldedNames(names);
  return {
    request: (x) => {
      const { request } = x;
      spellings.dropFrom(request.fields);
      x.added = x.added && withoutNamed(x.added, removed);
      request.extra = extended(request.extra, removed, fields);
      return null;
    },
  };
}

/** Whether responses do not name the proxy either, which would add its `Server` where there is none. */
export function hidesServer(spec: FilterSpec): boolean {
  return spec.kind === "response-headers" && (spec.remove?.includes("server") ?? false);
}

/** Changes what the client gets, of the proxy's own replies too. */
export function responseHeaders(spec: HeaderChange): Filter {
  const { removed, fields } = changeOf(spec);
  const isServerHidden = hidesServer(spec);
  return {
    response: (_, head) => {
      if (isServerHidden) head.hidesServer = true;
      changeResponse(head, removed, fields);
    },
  };
}
