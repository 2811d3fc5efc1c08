/**
 * Max-Forwards of OPTIONS (RFC 9110 §7.6.2), by which a client finds where on the way its requests
 * change or end. In: a request. Out: the field one lower, or a local reply where it was 0. TRACE,
 * which has the field too, is refused; on other methods, and as no number, it means nothing.
 */
import { fieldsOf, MAX_FORWARDS } from "../http/fields.ts";
import { NO_BODY } from "../http/body.ts";
import { ResponseHead } from "../http/message.ts";
import { ALLOW } from "../http/method.ts";
import type { Filter } from "./filter.ts";

/** Lowers the field in its place. */
export const maxForwards: Filter = {
  request: ({ request }) => {
    if (request.method !== "OPTIONS") return null;
    const { fields } = request;
    const index = fields.find(MAX_FORWARDS);
    if (index === -1 || !/^\d+$/.test(fields.value(index))) return null;
    const forwards = Math.min(Number(fields.value(index)), Number.MAX_SAFE_INTEGER);
    if (forwards > 0) {
      fields.shrink(index, String(forwards - 1));
      return null;
    }
    const head = new ResponseHead();
    head.status = 200;
    head.reason = "OK";
    head.fields = fieldsOf([["Allow", ALLOW]]);
    head.bodyLength = head.contentLength = 0;
    head.closes = request.bodyLength !== 0;
    return { head, body: NO_BODY };
  },
};
