/**
 * Ingresses that need a Secret although nothing of it is used. In: Ingresses in their order, and Secrets. Out:
 * the same Ingresses, those with a refusal whose Secret cannot be used; the very same list while nothing changes.
 *
 * ingress-nginx reads the Secret of `auth-tls-secret` before it looks whether client certificates are turned
 * off, and returns 403 for the whole host without it.
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import { LastResult } from "../../base/memo.ts";
import type { RequiredSecret, Source, SourceList } from "../model/source.ts";
import type { SecretModel } from "./certificate_source.ts";
import { isSecretFault, readSecretParts, type SecretFault } from "./secret_parts.ts";

interface Inputs {
  readonly list: SourceList;
  readonly secrets: ReadonlyMap<string, SecretModel>;
}

interface Refused {
  /** A clause. */
  readonly why: string;
  readonly source: Source;
}

export class RequiredSecrets {
  readonly #last = new LastResult<Inputs, SourceList>();
  /** By the Ingress as it was read: it is the same one while its Secret is missing. */
  readonly #refused = new WeakMap<Source, Refused>();

  refuse(list: SourceList, secrets: ReadonlyMap<string, SecretModel>): SourceList {
    return this.#last.recall((last) => last.list === list && last.secrets === secrets) ??
      this.#last.keep({ list, secrets }, this.#refuse(list, secrets));
  }

  #refuse(list: SourceList, secrets: ReadonlyMap<string, SecretModel>): SourceList {
    const before = this.#last.last;
    /** The fields that name such Secrets. */
    const refused = new Map<ObjectRef, string>();
    const ingresses = list.ingresses.map((source) => {
      const required = source.requiredSecret;
      if (required === null) return source;
      const parts = readSecretParts(required, secrets);
      if (!isSecretFault(parts)) return source;
      refused.set(source.identity.ref, required.refusal.field);
      return this.#withRefusal(source, required, parts);
    });
    if (refused.size === 0) return list;
    const isSame = before?.inputs.list === list &&
      before.result.ingresses.every((source, i) => source === ingresses[i]);
    if (isSame) return before.result;
    // What they were read with says that the annotation has no effect.
    const problems = list.problems.filter(({ object, field }) =>
      object === null || refused.get(object) !== field
    );
    return { ...list, ingresses, problems };
  }

  #withRefusal(source: Source, { refusal }: RequiredSecret, why: SecretFault): Source {
    let known = this.#refused.get(source);
    const { clause, facts, remedy = refusal.remedy } = why;
    if (known?.why !== clause) {
      const fault = `${refusal.fault}: ${clause}`;
      const refusals = [...source.refusals, { ...refusal, fault, facts, remedy }];
      this.#refused.set(source, known = { why: clause, source: { ...source, refusals } });
    }
    return known.source;
  }
}
