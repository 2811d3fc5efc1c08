/**
 * HTTP Strict Transport Security (RFC 6797). In: for how long browsers keep to HTTPS. Out: a filter that
 * says so over TLS, in place of what the upstream says.
 */
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { changeResponse } from "../http/changed_fields.ts";
import { asciiBytes, fieldsOf } from "../http/fields.ts";
import type { Filter } from "./filter.ts";

type Hsts = Extract<FilterSpec, { readonly kind: "hsts" }>;

const NAME = asciiBytes("strict-transport-security");

export function hsts({ maxAge, includeSubDomains }: Hsts): Filter {
  const value = `max-age=${maxAge}${includeSubDomains ? "; includeSubDomains" : ""}`;
  const fields = fieldsOf([["Strict-Transport-Security", value]]);
  return {
    response: ({ client }, head) => {
      // RFC 6797 §7.2: never over plain HTTP.
      if (client.secure) changeResponse(head, [NAME], fields);
    },
  };
}
