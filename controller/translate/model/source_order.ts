/**
 * Which of two sources takes precedence, in every conflict. In: two sources. Out: which comes first, and
 * why in words.
 */
import { formatObject } from "../../../shared/problem.ts";
import { compareAge } from "../../base/identity.ts";
import { compareText } from "../../base/text_order.ts";
import type { Source } from "./source.ts";

/** What the order depends on. */
export type Ordered = Pick<Source, "identity" | "profile">;

/**
 * Oldest first. Of one age, as `kubectl apply` of several makes them: by namespace and name, but in the
 * profile nginx downwards, as ingress-nginx sorts them (sortIngressSlice); those without the profile come
 * before those with it. No two sources of a kind are equal.
 */
export function compareSources(a: Ordered, b: Ordered): number {
  if (a.identity.createdAt !== b.identity.createdAt || isPlain(a) && isPlain(b)) {
    return compareAge(a.identity, b.identity);
  }
  return Number(isPlain(b)) - Number(isPlain(a)) || compareText(b.identity.key, a.identity.key);
}

/** Names the one of two sources that has what both want, and says why. */
export function showElder(elder: Ordered, than: Ordered): string {
  return `${formatObject(elder.identity.ref)}, which ${whyFirst(elder, than)}`;
}

function whyFirst(elder: Ordered, than: Ordered): string {
  if (elder.identity.createdAt < than.identity.createdAt) return "is older";
  if (compareSources(elder, than) > 0) return "takes precedence";
  if (elder.profile !== than.profile) return "is of the same age, but without the profile nginx";
  return isPlain(elder)
    ? "comes first by name"
    : "is of the same age and comes last by name, as in ingress-nginx";
}

function isPlain({ profile }: Ordered): boolean {
  return profile === "pingress";
}
