/**
 * The Ingresses that are served, oldest first. In: objects of our classes. Out: a model of each that
 * has a name of its own, with the problems of reading them; the same list while they are the same.
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import { addToIndex, type Identity } from "../../base/identity.ts";
import { readIngress } from "./ingress.ts";
import type { IngressObject } from "./ingress_object.ts";
import { carryOver, differenceOf, isSameList, LastResult } from "../../base/memo.ts";
import type { NamespaceFacts } from "../hosts/namespace_facts.ts";
import { type ObjectProblem, type ProblemList, recordProblems } from "../../base/problems.ts";
import { SortedList } from "../../base/sorted_list.ts";
import { RouteSettingsPool } from "../model/route_settings.ts";
import type { Source, SourceList } from "../model/source.ts";
import { compareSources } from "../model/source_order.ts";

interface Ordered {
  readonly list: SourceList;
  readonly namespaces: NamespaceFacts;
}

export class IngressReader {
  readonly #lastList = new LastResult<readonly IngressObject[], SourceList>();
  readonly #lastOrder = new LastResult<Ordered, SourceList>();
  readonly #settings = new RouteSettingsPool();
  readonly #byAge = new SortedList<Source>(compareSources);
  /** Of the last list; null where not each object has a model of its own. */
  #models: readonly Source[] | null = null;
  readonly #keys = new Set<string>();
  /** Models with problems, and those that are being deleted. */
  readonly #faulty = new Set<Source>();
  readonly #dying = new Set<Source>();

  /**
   * Every Ingress that has a name. One without is left out with a problem: the API knows no such
   * object, and its routes could not be told from another's.
   */
  read(objects: readonly IngressObject[]): SourceList {
    const before = this.#lastList.last;
    const { removed, added } = differenceOf(before?.inputs ?? [], objects);
    if (before !== null && removed.length + added.length === 0) return before.result;
    takeModels(removed, added);
    return this.#lastList.keep(
      objects,
      before === null
        ? this.#readAll(objects)
        : this.#readChanges(before, objects, removed, added) ?? this.#readAll(objects),
    );
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

  /** Null where names are missing or repeated: then it takes all objects to decide. */
  #readChanges(
    before: { readonly inputs: readonly IngressObject[]; readonly result: SourceList },
    objects: readonly IngressObject[],
    removed: readonly IngressObject[],
    added: readonly IngressObject[],
  ): SourceList | null {
    if (this.#models === null) return null;
    const found = new Map<IngressObject, Source>();
    for (const { identity } of removed) this.#keys.delete(identity!.key);
    for (const ingress of added) {
      if (!ingress.hasIdentity() || this.#keys.has(ingress.identity.key)) return null;
      this.#keys.add(ingress.identity.key);
      found.set(ingress, this.#model(ingress));
    }
    for (const ingress of removed) {
      if (ingress.hasIdentity()) this.#forget(this.#model(ingress));
    }
    for (const model of found.values()) this.#note(model);
    const models = carryOver(before.inputs, this.#models, objects, found);
    // Most changes are of statuses, which are never read.
    if (isSameList(this.#models, models)) return before.result;
    this.#models = models;
    return this.#listOf(models, [], models.length);
  }

  #readAll(objects: readonly IngressObject[]): SourceList {
    const index = new Map<string, IngressObject & { readonly identity: Identity }>();
    const { problems } = recordProblems((list) => {
      for (const ingress of objects) {
        if (ingress.hasIdentity()) addToIndex(index, ingress, list);
        else reportNameless(ingress.ref, list);
      }
    });
    const named = objects.reduce((count, ingress) => count + (ingress.hasIdentity() ? 1 : 0), 0);
    const models = Array.from(index.values(), (ingress) => this.#model(ingress));
    this.#keys.clear();
    this.#faulty.clear();
    this.#dying.clear();
    for (const model of models) this.#note(model);
    for (const key of index.keys()) this.#keys.add(key);
    this.#models = models.length === objects.length ? models : null;
    return this.#listOf(models, problems, named);
  }

  /**
   * @param problems Of names.
   * @param named How many objects have one.
   */
  #listOf(
    models: readonly Source[],
    problems: readonly ObjectProblem[],
    named: number,
  ): SourceList {
    const faulty = [...this.#faulty].sort(compareSources);
    return {
      ingresses: this.#byAge.of(models),
      problems: [...problems, ...faulty.flatMap((model) => model.problems)],
      hasDuplicates: models.length < named,
      hasDying: this.#dying.size > 0,
    };
  }

  #note(model: Source): void {
    if (model.problems.length > 0) this.#faulty.add(model);
    if (model.isDying) this.#dying.add(model);
  }

  #forget(model: Source): void {
    this.#faulty.delete(model);
    this.#dying.delete(model);
  }

  #model(ingress: IngressObject & { readonly identity: Identity }): Source {
    return ingress.model((identity, object, profile, globals) =>
      readIngress(identity, object, this.#settings, profile, globals)
    );
  }
}

/** Objects that came in the place of others that say the same take over their models. */
function takeModels(removed: readonly IngressObject[], added: readonly IngressObject[]): void {
  for (const [i, ingress] of added.entries()) {
    if (i < removed.length) ingress.takeModelOf(removed[i]);
  }
}

function inOrder(list: SourceList, terminating: ReadonlySet<string>): SourceList {
  // Namespaces are hardly ever deleted, and to look each one up takes 2 ms for 10,000 Ingresses.
  const isLast = terminating.size === 0
    ? ({ isDying }: Source) => isDying
    : ({ isDying, identity }: Source) => isDying || terminating.has(identity.ref.namespace);
  if (terminating.size === 0 && !list.hasDying) return list;
  if (!list.ingresses.some(isLast)) return list;
  const living = list.ingresses.filter((ingress) => !isLast(ingress));
  return { ...list, ingresses: [...living, ...list.ingresses.filter(isLast)] };
}

function reportNameless(ref: ObjectRef, problems: ProblemList): void {
  problems.about(ref).error("metadata.name", {
    reason: "NameInvalid",
    message: "its name or namespace is not valid in Kubernetes, so it is ignored",
    remedy: "Write metadata.name in lower-case letters, digits, - and dots",
  });
}
