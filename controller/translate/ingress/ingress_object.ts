/**
 * An Ingress as it came, of whatever class. In: an object of unknown shape. Out: the class that it
 * names, its identity, and once it is asked for, all that it says to a profile; the same for the same
 * object.
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import { type Identity, readIdentity, refOf } from "../../base/identity.ts";
import { asObject, asText, fieldOf, isSameJson, type JsonObject } from "../../base/json.ts";
import { ObjectCache } from "../../base/memo.ts";
import type { Profile } from "../model/profile.ts";
import type { Source } from "../model/source.ts";

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

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
  #model: Source | null = null;
  /** The same object, read by another profile. */
  #other: IngressObject | null = null;

  constructor(object: JsonObject, profile: Profile = "pingress") {
    this.object = object;
    this.profile = profile;
    this.ref = refOf("Ingress", object);
    this.identity = readIdentity("Ingress", object);
    this.className = fieldOf(fieldOf(object, "spec"), "ingressClassName");
    const annotations = fieldOf(fieldOf(object, "metadata"), "annotations");
    this.classAnnotation = asText(fieldOf(annotations, CLASS_ANNOTATION));
  }

  hasIdentity(): this is IngressObject & { readonly identity: Identity } {
    return this.identity !== null;
  }

  /** The very same each time for a profile. */
  readAs(profile: Profile): IngressObject {
    return profile === this.profile
      ? this
      : this.#other ??= new IngressObject(this.object, profile);
  }

  /** What `read` makes of it, which must be the same each time. */
  model(
    this: IngressObject & { readonly identity: Identity },
    read: (identity: Identity, object: JsonObject, profile: Profile) => Source,
  ): Source {
    return this.#model ??= read(this.identity, this.object, this.profile);
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
    if (this.identity?.key !== other.identity?.key || this.profile !== other.profile) return false;
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
