/**
 * The Host that an upstream gets. In: the parts of a name. Out: a filter that writes it in place of the
 * client's. X-Forwarded-Host stays what the client sent.
 */
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import type { RequestHead } from "../http/message.ts";
import type { Filter } from "./filter.ts";

type RequestHost = Extract<FilterSpec, { readonly kind: "request-host" }>;

/** Both have no characters but those of names, addresses and ports: `http/host.ts` checks them. */
const VALUES: Readonly<Record<"host" | "authority", (request: RequestHead) => string>> = {
  host: ({ host }) => host,
  authority: ({ authority }) => authority,
};

export function requestHost({ parts }: RequestHost): Filter {
  return {
    request: ({ request }) => {
      const written = parts.map((part) =>
        part.kind === "text" ? part.text : VALUES[part.kind](request)
      );
      request.authority = written.join("");
      return null;
    },
  };
}
