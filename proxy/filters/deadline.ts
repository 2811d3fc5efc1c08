/**
 * The time of a route for a whole request: from its head until the last byte of its response. In: the time.
 * Out: a filter that cancels the exchange when it has passed: 504, or the end of a response that has begun.
 *
 * A client that has switched protocols (WebSocket) has its response by then, so tunnels have no such time.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-1742/
 */
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { ProxyError } from "../errors.ts";
import type { Exchange } from "../http/message.ts";
import type { Filter } from "./filter.ts";

export interface DeadlineServices {
  /** Calls `passed` once after so many ms, unless it is cancelled before. */
  readonly timeout?: (time: number, passed: () => void) => Timer;
}

interface Timer {
  cancel(): void;
}

type Deadline = Extract<FilterSpec, { readonly kind: "deadline" }>;

const SWITCHING_PROTOCOLS = 101;

/** A stack costs more than the response. */
const PASSED = new ProxyError("deadline_passed");

export function deadline({ time }: Deadline, { timeout }: DeadlineServices): Filter {
  if (timeout === undefined) throw new Error("there are no timers");
  const timeouts = new WeakMap<Exchange, Timer>();
  return {
    request: (x) => {
      timeouts.set(x, timeout(time, () => x.cancellation.cancel(PASSED)));
      return null;
    },
    response: (x, { status }) => {
      if (status === SWITCHING_PROTOCOLS) timeouts.get(x)?.cancel();
    },
    end: (x) => timeouts.get(x)?.cancel(),
  };
}
