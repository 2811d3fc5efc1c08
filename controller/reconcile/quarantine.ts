/**
 * Translation that one object cannot stop. In: what `translate` takes. Out: what it gives; where it
 * fails on an Ingress, that one alone is left out, its published configuration stays active, and a problem
 * says so; where it fails on a Gateway or route that is served, all Gateways stay as they are published.
 * `translate` is not known to throw, and this is why nobody has to trust that.
 */
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { refOf } from "../base/identity.ts";
import type { GatewayObject, Resources } from "../kube/resources.ts";
import { GATEWAYS, HTTP_ROUTES } from "../kube/types.ts";
import type { Clock, TranslateOptions, Translation } from "../translate/translator.ts";
import { withPublishedRoutes } from "./kept_routes.ts";

export type Translate = (
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  clock: Clock,
) => Translation;

/** Translations, while those are looked for that fail; some ten are found among ten thousand. */
const MAX_ATTEMPTS = 300;

/** Of one namespace; with more, all of it is left out, so that no tenant uses up the attempts. */
const MAX_FOUND = 4;

/** Null where not even the rest can be translated: then what is published stays as it is. */
export function translateOrQuarantine(
  translate: Translate,
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  clock: Clock,
): Translation | null {
  try {
    return translate(resources, published, options, clock);
  } catch {
    // Looked for below: who is at fault is known only by trying without the others.
  }
  const translateOf = (resources: Resources) => translate(resources, published, options, clock);
  const failures = failuresAmong(
    resources.ingresses,
    (ingresses) => translateOf({ ...resources, ingresses, gatewayIsPending: true }),
  );
  if (failures === null) return null;
  const ingresses = resources.ingresses.filter((ingress) => !failures.has(ingress));
  // Nobody else becomes the owner of a host because of that.
  const keptNamespaces = new Set([...failures.keys()].map(namespaceOf));
  const keeping = { ...options, keptNamespaces };
  const rest = translateGateways(
    (resources) => translate(resources, published, keeping, clock),
    { ...resources, ingresses },
    published,
  );
  if (rest === null) return null;
  const refs = [...failures].map(([ingress, reason]) =>
    [refOf("Ingress", ingress), reason] as const
  );
  return {
    ...rest,
    snapshot: withPublishedRoutes(rest.snapshot, published, refs.map(([ref]) => ref)),
    problems: [...rest.problems, ...refs.map(([ref, reason]) => quarantined(ref, reason, "its"))],
  };
}

/**
 * Those that cannot be translated even alone, and why; null where nothing can be. By halves: to try each
 * of thousands would take minutes, in which no lease is renewed. If the attempts run out, all that have not
 * been tried by then count as failures.
 */
function failuresAmong<T extends object>(
  objects: readonly T[],
  attempt: (objects: readonly T[]) => unknown,
): Map<T, string> | null {
  if (failureOf(() => attempt([])) !== null) return null;
  const failures = new Map<T, string>();
  const found = new Map<string, number>();
  const isLeftOut = (object: T) => (found.get(namespaceOf(object)) ?? 0) >= MAX_FOUND;
  let suspects = [objects];
  for (let attempts = 0; suspects.length > 0; attempts++) {
    if (attempts === MAX_ATTEMPTS) break;
    const some = suspects.pop()!;
    const failure = failureOf(() => attempt(some));
    if (failure === null) continue;
    if (some.length > 1) {
      const middle = Math.ceil(some.length / 2);
      suspects.push(some.slice(middle), some.slice(0, middle));
      continue;
    }
    const [object] = some;
    failures.set(object, failure);
    const namespace = namespaceOf(object);
    found.set(namespace, (found.get(namespace) ?? 0) + 1);
    if (!isLeftOut(object)) continue;
    suspects = suspects.map((some) => some.filter((other) => !isLeftOut(other)))
      .filter((some) => some.length > 0);
  }
  const untried = new Set(suspects.flat());
  for (const object of objects) {
    if (failures.has(object) || !(isLeftOut(object) || untried.has(object))) continue;
    failures.set(
      object,
      `${isLeftOut(object) ? "others of its namespace" : "too many others"} failed`,
    );
  }
  return failures;
}

function namespaceOf(object: object): string {
  return refOf("", object).namespace;
}

/** What the error says; null for none. */
function failureOf(action: () => unknown): string | null {
  try {
    action();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * With Gateways and routes, as far as they can be translated: those that cannot are left out if they have
 * never been published; otherwise, what is published of all Gateways stays. Null where nothing can be
 * translated.
 */
function translateGateways(
  translateOf: (resources: Resources) => Translation,
  resources: Resources,
  published: Snapshot | null,
): Translation | null {
  try {
    return translateOf(resources);
  } catch {
    // As above.
  }
  const { gateways, httpRoutes } = resources;
  const of = (objects: readonly GatewayObject[]) => {
    const some = new Set(objects);
    return {
      gateways: gateways?.filter((each) => some.has(each)),
      httpRoutes: httpRoutes?.filter((each) => some.has(each)),
    };
  };
  const objects = [...gateways ?? [], ...httpRoutes ?? []];
  const failures = failuresAmong(
    objects,
    (some) => translateOf({ ...resources, ingresses: [], ...of(some) }),
  ) ?? new Map<GatewayObject, string>();
  const others = of(objects.filter((object) => !failures.has(object)));
  const refs = [...failures].map(([object, reason]): [ObjectRef, string] => [
    refOf(gateways?.includes(object) ? GATEWAYS.kind : HTTP_ROUTES.kind, object),
    reason,
  ]);
  const names = new Set(refs.map(([ref]) => formatObject(ref)));
  const isPublished = [...published?.listeners ?? [], ...published?.routes ?? []]
    .some(({ origin }) => names.has(formatObject(origin as ObjectRef)));
  const canLeaveOut = failures.size > 0 && !isPublished;
  const attempts = [
    ...(canLeaveOut ? [{ some: { ...resources, ...others }, whose: "its" } as const] : []),
    { some: { ...resources, gatewayIsPending: true }, whose: "the Gateways'" } as const,
  ];
  for (const { some, whose } of attempts) {
    try {
      const translation = translateOf(some);
      const problems = refs.map(([ref, reason]) => quarantined(ref, reason, whose));
      return { ...translation, problems: [...translation.problems, ...problems] };
    } catch {
      // The next one leaves out more.
    }
  }
  return null;
}

/** @param whose Published configuration is kept. */
function quarantined(object: ObjectRef, reason: string, whose: "its" | "the Gateways'"): Problem {
  return {
    object,
    field: "",
    reason: "Quarantined",
    message: `it could not be translated (${
      reason.slice(0, 200)
    }), so ${whose} published configuration stays active`,
    remedy: "Report this with the object; as a workaround, change the object",
    severity: "error",
  };
}
