/**
 * The path as the client has sent it, for routes that are compared with decoded paths. In: a request. Out:
 * the same, with that path in place of the canonical one: filters after it, logs and the upstream see it
 * as nginx's `$request_uri`. The proxy accepts no path with bytes that would end a line.
 */
import type { Filter } from "./filter.ts";

export const receivedPath: Filter = {
  changesRequestAlone: true,
  request: ({ request }) => {
    if (request.received !== "") request.path = request.received;
    return null;
  },
};
