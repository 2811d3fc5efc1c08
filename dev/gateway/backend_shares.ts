/** How a rule's requests are shared. In: the action of a route. Out: each backend with its share, as data and in words. */
import type { ForwardAction } from "../../shared/snapshot/types.ts";

export interface BackendShare {
  /** Id of an upstream: `default/web:http`. */
  readonly upstream: string;
  /** Of all requests, from 0 to 1. */
  readonly share: number;
  /** Why its requests get 500; null where they do not. */
  readonly fault: string | null;
}

export function sharesOf({ backends }: ForwardAction): BackendShare[] {
  const total = backends.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return backends.map(({ upstream, weight = 1, fault = null }) => ({
    upstream,
    share: total === 0 ? 0 : weight / total,
    fault,
  }));
}

/** `default/v1:80 90%`, or the upstream alone where it gets all. */
export function shareTexts(action: ForwardAction): string[] {
  return sharesInWords(sharesOf(action));
}

/** As `shareTexts`. */
export function sharesInWords(shares: readonly BackendShare[]): string[] {
  return shares.map(({ upstream, share, fault }) => {
    const shown = shares.length === 1 ? "" : ` ${percent(share * 100)}`;
    return `${fault === null ? upstream : "500"}${shown}`;
  });
}

function percent(value: number): string {
  return `${value >= 1 || value === 0 ? Math.round(value * 10) / 10 : value.toPrecision(1)}%`;
}
