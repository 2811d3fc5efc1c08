/**
 * Requests that have no route. In: the number below 0 that a table has in place of one. Out: what its client gets.
 */
import { ProxyError } from "../errors.ts";
import { BAD_PATH, TOO_MUCH_WORK } from "../router/table.ts";

/** One for all, as they may come in floods and a stack costs more than to find it out. */
const TOO_LONG = new ProxyError("too_much_matching");

/** @param place As `RouteTable.find` has it. */
export function unrouted(place: number): ProxyError {
  if (place === TOO_MUCH_WORK) return TOO_LONG;
  return new ProxyError(place === BAD_PATH ? "bad_target" : "no_route");
}
