/**
 * Which Ingresses are ours. In: Ingresses, IngressClasses and the classes that are served. Out: the
 * Ingresses of those classes, each with the profile of its class, and those whose addresses are not
 * ours to write. One of another class is none of our business: no problem, no status.
 *
 * https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-class
 */
import { creationTime, refOf } from "../../base/identity.ts";
import type { IngressObject, IngressObjects } from "./ingress_object.ts";
import { asText, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { carryOver, differenceOf } from "../../base/memo.ts";
import { isDnsName } from "../../base/names.ts";
import { ProblemList, type ProblemText } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import { type GlobalSettings, NO_GLOBALS } from "../model/global_settings.ts";
import type { Profile } from "../model/profile.ts";
import { PROFILE_ANNOTATION, STATUS_ANNOTATION } from "../annotations/own_annotation_names.ts";

const DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class";

/** What `spec.controller` of its classes says; it cannot be changed. */
export const NGINX_CONTROLLER = "k8s.io/ingress-nginx";

export interface ClassOptions {
  readonly ingressClasses: readonly string[];
  readonly controllerNames: readonly string[];
  readonly watchIngressWithoutClass: boolean;
  /** Those of `ingressClasses` with the profile nginx, whatever an IngressClass says; missing for none. */
  readonly nginxClasses?: readonly string[];
}

/** Whether an IngressClass is that of Ingresses which name none. */
export function isDefaultClass(object: unknown): boolean {
  return annotationOf(object, DEFAULT_ANNOTATION) === "true";
}

/** The Ingresses that are served here, in the order given; each is read as its class says. */
export function ownIngresses(
  ingresses: readonly IngressObject[],
  ingressClasses: readonly unknown[],
  options: ClassOptions,
  problems: ProblemList,
): IngressObject[] {
  const classes = readClasses(ingressClasses, options, problems);
  return ingresses.flatMap((ingress) => {
    const profile = profileOf(ingress, classes);
    return profile === null ? [] : ingress.readAs(profile);
  });
}

/** Whether a class that is served has the profile nginx, by whatever says so. */
export function servesNginx(ingressClasses: readonly unknown[], options: ClassOptions): boolean {
  const { served } = readClasses(ingressClasses, options, new ProblemList());
  return served.values().some((profile) => profile === "nginx");
}

/** Sorts out the Ingresses of one translation after the other. */
export class OwnIngresses {
  readonly #readers: IngressObjects;
  /** Of the last call; of each object what it is read as, null where it is not served. */
  #last: {
    readonly objects: readonly unknown[];
    readonly classes: Classes;
    readonly globals: GlobalSettings;
    readonly each: readonly (IngressObject | null)[];
    readonly own: readonly IngressObject[];
  } | null = null;
  #unaddressed: ReadonlySet<string> = NONE;

  constructor(readers: IngressObjects) {
    this.#readers = readers;
  }

  /** Keys of those whose class has its addresses written by another controller, of the last call. */
  get unaddressed(): ReadonlySet<string> {
    return this.#unaddressed;
  }

  /**
   * See `ownIngresses`. Only objects that came are looked at, while the classes are the same, and what
   * holds for all of the profile nginx.
   */
  of(
    objects: readonly unknown[],
    ingressClasses: readonly unknown[],
    options: ClassOptions,
    globals: GlobalSettings,
    problems: ProblemList,
  ): readonly IngressObject[] {
    const classes = readClasses(ingressClasses, options, problems);
    const before = this.#last;
    const read = (object: unknown) => {
      const ingress = this.#readers.of(object);
      const profile = profileOf(ingress, classes);
      if (profile === null) return null;
      return ingress.readAs(profile, profile === "nginx" ? globals : NO_GLOBALS);
    };
    if (
      before === null || before.globals !== globals || !isSameClasses(before.classes, classes)
    ) {
      return this.#keep(objects, classes, globals, objects.map(read));
    }
    const { removed, added } = differenceOf(before.objects, objects);
    if (removed.length + added.length === 0) return before.own;
    const found = new Map(added.map((object) => [object, read(object)]));
    const each = carryOver(before.objects, before.each, objects, found);
    return this.#keep(objects, classes, globals, each);
  }

  #keep(
    objects: readonly unknown[],
    classes: Classes,
    globals: GlobalSettings,
    each: readonly (IngressObject | null)[],
  ): readonly IngressObject[] {
    const own = each.filter((ingress) => ingress !== null);
    this.#last = { objects, classes, globals, each, own };
    this.#unaddressed = unaddressedOf(own, classes);
    return own;
  }
}

const NONE: ReadonlySet<string> = new Set();

function isSameClasses(a: Classes, b: Classes): boolean {
  return a.withoutClass === b.withoutClass && a.byDefault === b.byDefault &&
    a.served.size === b.served.size && a.unaddressed.size === b.unaddressed.size &&
    a.served.entries().every(([name, profile]) => b.served.get(name) === profile) &&
    a.unaddressed.values().every((name) => b.unaddressed.has(name));
}

function unaddressedOf(own: readonly IngressObject[], classes: Classes): ReadonlySet<string> {
  if (classes.unaddressed.size === 0) return NONE;
  return new Set(own.flatMap(({ identity, className, classAnnotation }) => {
    const name = isAbsent(className) ? classAnnotation ?? classes.byDefault : className;
    return identity !== null && typeof name === "string" && classes.unaddressed.has(name)
      ? [identity.key]
      : [];
  }));
}

interface Classes {
  readonly served: ReadonlyMap<string, Profile>;
  /** Of Ingresses that name no class; null where they are not served. */
  readonly withoutClass: Profile | null;
  /** The default class; null where none is, or it is not served. */
  readonly byDefault: string | null;
  /** Those of `served` whose Ingresses get no addresses of ours. */
  readonly unaddressed: ReadonlySet<string>;
}

function readClasses(
  objects: readonly unknown[],
  options: ClassOptions,
  problems: ProblemList,
): Classes {
  const nginxClasses = new Set(options.nginxClasses);
  const byName = (name: string): Profile => nginxClasses.has(name) ? "nginx" : "pingress";
  const served = new Map(options.ingressClasses.map((name) => [name, byName(name)]));
  const unaddressed = new Set<string>();
  const defaults: { readonly name: string; readonly createdAt: number }[] = [];
  for (const object of objects) {
    const { name } = refOf("IngressClass", object);
    if (!isDnsName(name)) continue;
    const controller = asText(fieldOf(fieldOf(object, "spec"), "controller"));
    const isTakenOver = controller !== null && options.controllerNames.includes(controller);
    if (isTakenOver || served.has(name)) {
      const isNginx = readProfile(object, name, problems) === "nginx" ||
        (isTakenOver && controller === NGINX_CONTROLLER);
      served.set(name, isNginx ? "nginx" : byName(name));
      if (isStatusOff(object, name, problems)) unaddressed.add(name);
    }
    if (isDefaultClass(object)) {
      defaults.push({ name, createdAt: creationTime(object) });
    }
  }
  // As the API server's admission does: of several default classes the newest counts.
  defaults.sort((a, b) =>
    a.createdAt === b.createdAt ? compareText(a.name, b.name) : a.createdAt > b.createdAt ? -1 : 1
  );
  const [chosen, ...others] = defaults;
  for (const { name } of others) {
    if (name === chosen.name || !(served.has(name) || served.has(chosen.name))) continue;
    problems.about({ kind: "IngressClass", namespace: "", name }).warning(
      `metadata.annotations[${JSON.stringify(DEFAULT_ANNOTATION)}]`,
      {
        reason: "MultipleDefaultClasses",
        message: `several classes are marked as default, and ${chosen.name} counts`,
        remedy: "Remove the annotation from all but one of them",
      },
    );
  }
  const byDefault = chosen === undefined ? undefined : served.get(chosen.name);
  return {
    served,
    withoutClass: byDefault ?? profileWithoutClass(options),
    byDefault: byDefault === undefined ? null : chosen.name,
    unaddressed,
  };
}

/** Of Ingresses that name no class, where no class of ours is the default one. */
function profileWithoutClass(options: ClassOptions): Profile | null {
  if (!options.watchIngressWithoutClass) return null;
  const { ingressClasses, nginxClasses = [] } = options;
  // They belong to one class as much as to another.
  return ingressClasses.every((name) => nginxClasses.includes(name)) ? "nginx" : "pingress";
}

/** What an IngressClass says; null for nothing, or nothing that is known. */
function readProfile(object: unknown, name: string, problems: ProblemList): Profile | null {
  return readSetting(object, name, problems, PROFILE_ANNOTATION, ["nginx"], (written) => ({
    reason: "ProfileUnknown",
    message: `${written} is not a known profile, so the annotation has no effect`,
    remedy: "Set it to nginx, or remove the annotation",
  }));
}

/** Whether an IngressClass leaves the addresses of its Ingresses to another controller. */
function isStatusOff(object: unknown, name: string, problems: ProblemList): boolean {
  const written = readSetting(object, name, problems, STATUS_ANNOTATION, ["on", "off"], (text) => ({
    reason: "StatusSettingUnknown",
    message: `${text} is neither on nor off, so addresses are written to status`,
    remedy: 'Set it to "on" or "off", or remove the annotation',
  }));
  return written === "off";
}

/**
 * The value of an annotation of an IngressClass; null for none, and for one that is not known.
 *
 * @param unknown The warning of one, by what is written, quoted.
 */
function readSetting<V extends string>(
  object: unknown,
  name: string,
  problems: ProblemList,
  annotation: string,
  values: readonly V[],
  unknown: (written: string) => ProblemText,
): V | null {
  const written = annotationOf(object, annotation);
  const known = values.find((value) => value === written);
  if (known !== undefined) return known;
  if (isAbsent(written) || written === "") return null;
  problems.about({ kind: "IngressClass", namespace: "", name })
    .warning(`metadata.annotations[${JSON.stringify(annotation)}]`, unknown(quote(written)));
  return null;
}

/** Null where it is not served. */
function profileOf(
  { className, classAnnotation }: IngressObject,
  { served, withoutClass }: Classes,
): Profile | null {
  if (!isAbsent(className)) {
    return typeof className === "string" ? served.get(className) ?? null : null;
  }
  return classAnnotation === null ? withoutClass : served.get(classAnnotation) ?? null;
}

function annotationOf(object: unknown, name: string): unknown {
  return fieldOf(fieldOf(fieldOf(object, "metadata"), "annotations"), name);
}
