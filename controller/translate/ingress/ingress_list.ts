/**
 * The Ingresses that are served, oldest first. In: objects of our classes. Out: a model of each that
 * has a name of its own, with the problems of reading them; the same list while they are the same.
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import { addToIndex, compareAge, type Identity } from "../../base/identity.ts";
import { readIngress } from "./ingress.ts";
import type { IngressObject } from "./ingress_object.ts";
import { differenceOf, isSameList, LastResult } from "../../base/memo.ts";
import type { NamespaceFacts } from "../hosts/namespace_facts.ts";
import { type ProblemList, recordProblems } from "../../base/problems.ts";
import type { JsonObject } from "../../base/json.ts";
import { SortedList } from "../../base/sorted_list.ts";
import { RouteSettingsPool } from "../model/route_settings.ts";
import type { Source, SourceList } from "../model/source.ts";

interface Ordered {
  readonly list: SourceList;
  readonly namespaces: NamespaceFacts;
}

export class IngressReader {
  readonly #lastList = new LastResult<readonly IngressObject[], SourceList>();
  readonly #lastOrder = new LastResult<Ordered, SourceList>();
  readonly #settings = new RouteSettingsPool();
  readonly #byAge = new SortedList<Source>((a, b) => compareAge(a.identity, b.identity));

  /**
   * Every Ingress that has a name. One without is left out with a problem: the API knows no such
   * object, and its routes could not be told from another's.
   */
  read(objects: readonly IngressObject[]): SourceList {
    return this.#lastList.recall((before) =>
      isSameList(before, objects) || takeModels(before, objects)
    ) ?? this.#lastList.keep(objects, readAll(objects, this.#settings, this.#byAge));
  }

  /**
   * The same Ingresses, but those that are being deleted, or whose namespace is, come last: they lose
   * every conflict, and serve on where nobody else wants it.
   */
  livingFirst(list: SourceList, namespaces: NamespaceFacts): SourceList {
    return this.#lastOrder.recall((before) =>
      before.list === list && before.namespaces === namespaces
    ) ?? this.#lastOrder.keep({ list, namespaces }, inOrder(list, namespaces.terminating));
  }
}

/** Objects that came in the place of others that say the same take over their models. */
function takeModels(before: readonly IngressObject[], now: readonly IngressObject[]): false {
  const { removed, added } = differenceOf(before, now);
  for (const [i, ingress] of added.entries()) {
    if (i < removed.length) ingress.takeModelOf(removed[i]);
  }
  return false;
}

function readAll(
  objects: readonly IngressObject[],
  settings: RouteSettingsPool,
  byAge: SortedList<Source>,
): SourceList {
  let named = 0;
  const { value, problems } = recordProblems((list) => {
    const index = new Map<string, IngressObject & { readonly identity: Identity }>();
    for (const ingress of objects) {
      if (ingress.hasIdentity()) {
        named++;
        addToIndex(index, ingress, list);
      } else reportNameless(ingress.ref, list);
    }
    const read = (identity: Identity, object: JsonObject) =>
      readIngress(identity, object, settings);
    const models = byAge.of([...index.values()].map((ingress) => ingress.model(read)));
    for (const model of models) {
      if (model.problems.length > 0) list.addAll(model.problems);
    }
    return models;
  });
  return { ingresses: value, problems, hasDuplicates: value.length < named };
}

function inOrder(list: SourceList, terminating: ReadonlySet<string>): SourceList {
  const isLast = ({ isDying, identity }: Source) =>
    isDying || terminating.has(identity.ref.namespace);
  if (!list.ingresses.some(isLast)) return list;
  const living = list.ingresses.filter((ingress) => !isLast(ingress));
  return { ...list, ingresses: [...living, ...list.ingresses.filter(isLast)] };
}

function reportNameless(ref: ObjectRef, problems: ProblemList): void {
  problems.about(ref).error("metadata.name", {
    reason: "NameInvalid",
    message: "its name or namespace is not one that the API server takes, so it is left out",
    remedy: "Write metadata.name in lower-case letters, digits, - and dots",
  });
}
