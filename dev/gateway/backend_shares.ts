/** How a rule's requests are shared. In: the action of a route. Out: words on each backend and its share. */
import type { ForwardAction } from "../../shared/snapshot/types.ts";

/** `default/v1:80 90%`, or the upstream alone where it gets all. */
export function shareTexts({ backends }: ForwardAction): string[] {
  const total = backends.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return backends.map(({ upstream, weight = 1, fault }) => {
    const share = backends.length === 1 ? "" : ` ${percent(weight, total)}`;
    return fault === undefined ? `${upstream}${share}` : `500${share}`;
  });
}

/** Why requests for a backend get 500, one text for each that does. */
export function faultTexts({ backends }: ForwardAction): string[] {
  return backends.flatMap(({ fault }) => fault ?? []);
}

function percent(weight: number, total: number): string {
  const value = weight / total * 100;
  return `${value >= 1 ? Math.round(value * 10) / 10 : value.toPrecision(1)}%`;
}
