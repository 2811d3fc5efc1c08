/**
 * An Ingress as it came, of whatever class. In: an object of unknown shape. Out: the class that it
 * names, its identity, and once it is asked for, all that it says to a profile; the same for the same
 * object.
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import { type Identity, readIdentity, refOf } from "../../base/identity.ts";
import { asObject, asText, fieldOf, isSameJson, type JsonObject } from "../../base/json.ts";
import { ObjectCache } from "../../base/memo.ts";
import { type GlobalSettings, NO_GLOBALS } from "../model/global_settings.ts";
import type { Profile } from "../model/profile.ts";
import type { Source } from "../model/source.ts";

export const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

/** The class that an Ingress names, by its field and by the annotation that was before it. */
export function writtenClass(
  object: unknown,
): Pick<IngressObject, "className" | "classAnnotation"> {
  const annotations = fieldOf(fieldOf(object, "metadata"), "annotations");
  return {
    className: fieldOf(fieldOf(object, "spec"), "ingressClassName"),
    classAnnotation: asText(fieldOf(annotations, CLASS_ANNOTATION)),
  };
}

export class IngressObject {
  readonly object: JsonObject;
  /** As written; for a problem where there is no identity. */
  readonly ref: ObjectRef;
  readonly identity: Identity | null;
  /** `spec.ingressClassName`, of any shape. */
  readonly className: unknown;
  /** The annotation that named the class before there was a field for it. */
  readonly classAnnotation: string | null;
  /** By which its model is read. */
  readonly profile: Profile;
  /** What holds for all of its profile. */
  readonly globals: GlobalSettings;
  #model: Source | null = null;
  /** The same object, read by another profile: without and with settings for all. */
  #plain: IngressObject | null = null;
  #global: IngressObject | null = null;

  constructor(
    object: JsonObject,
    profile: Profile = "pingress",
    globals: GlobalSettings = NO_GLOBALS,
  ) {
    this.object = object;
    this.profile = profile;
    this.globals = globals;
    this.ref = refOf("Ingress", object);
    this.identity = readIdentity("Ingress", object);
    const { className, classAnnotation } = writtenClass(object);
    this.className = className;
    this.classAnnotation = classAnnotation;
  }

  hasIdentity(): this is IngressObject & { readonly identity: Identity } {
    return this.identity !== null;
  }

  /** The very same each time for a profile. */
  readAs(profile: Profile, globals: GlobalSettings = NO_GLOBALS): IngressObject {
    if (profile === this.profile && globals === this.globals) return this;
    if (globals === NO_GLOBALS) return this.#plain ??= new IngressObject(this.object, profile);
    return this.#global?.globals === globals && this.#global.profile === profile
      ? this.#global
      : this.#global = new IngressObject(this.object, profile, globals);
  }

  /** What `read` makes of it, which must be the same each time. */
  model(
    this: IngressObject & { readonly identity: Identity },
    read: (
      identity: Identity,
      object: JsonObject,
      profile: Profile,
      globals: GlobalSettings,
    ) => Source,
  ): Source {
    return this.#model ??= read(this.identity, this.object, this.profile, this.globals);
  }

  /**
   * Takes over the model of an object of the same name, if they differ in what is never read only
   * (most often in the status), so that all that was made of it stays.
   */
  takeModelOf(other: IngressObject): void {
    if (this.#model === null && other.#model !== null && this.#saysSameAs(other)) {
      this.#model = other.#model;
    }
  }

  #saysSameAs(other: IngressObject): boolean {
    const isReadAlike = this.profile === other.profile && this.globals === other.globals;
    if (this.identity?.key !== other.identity?.key || !isReadAlike) return false;
    const [a, b] = [this, other].map(({ object }) => {
      const metadata = fieldOf(object, "metadata");
      return [
        fieldOf(object, "spec"),
        fieldOf(object, "excess"),
        fieldOf(metadata, "annotations"),
        fieldOf(metadata, "creationTimestamp"),
        fieldOf(metadata, "deletionTimestamp"),
      ];
    });
    return isSameJson(a, b);
  }
}

/** Reads each Ingress once. */
export class IngressObjects {
  readonly #known = new ObjectCache((object: JsonObject) => new IngressObject(object));
  /** What is no object has no fields either. */
  readonly #nothing = new IngressObject({});

  of(value: unknown): IngressObject {
    const object = asObject(value);
    return object === null ? this.#nothing : this.#known.of(object);
  }
}
