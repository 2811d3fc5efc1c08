/**
 * Objects that are too large to be kept. In: what one says of itself. Out: which bound it exceeds. Of
 * such an object the controller keeps a stub: who it is, its class, its status, and this. And texts of
 * a stub that are too long: in: a value. Out: whether it stands for such a text.
 */

const BOUNDS = [
  ...["paths", "bytes", "namespace"] as const,
  ...["secrets", "secretBytes", "configMaps", "configMapBytes"] as const,
] as const;

/** The bound that an object exceeds. */
export interface Exceeded {
  /**
   * `paths`: of one Ingress. `bytes`: of one object. `namespace`: bytes of all of its namespace. Of Secrets that a
   * namespace names, `secrets`: how many, `secretBytes`: bytes of all; of ConfigMaps that its Gateways name,
   * `configMaps` and `configMapBytes`.
   */
  readonly bound: typeof BOUNDS[number];
  /** What is allowed. */
  readonly limit: number;
}

/** Why only a stub is kept. */
export interface Excess extends Exceeded {
  /** Of an Ingress hosts of its rules, as they are written, sorted; "" for a rule without one. */
  readonly hosts: readonly string[];
  /** Whether it has more hosts than these. */
  readonly hasMoreHosts: boolean;
}

/**
 * Stands in a stub for a text that is not kept. It is none itself: a part of an access list, or of an
 * address in it, would be taken for a list that admits more. Nor can anybody write it there.
 */
export const CUT_TEXT = { isCut: true } as const;

export function isCutText(value: unknown): boolean {
  return (value as { readonly isCut?: unknown } | null | undefined)?.isCut === CUT_TEXT.isCut;
}

/** What is wrong with a setting whose text was not kept; a clause. */
export const CUT_FAULT =
  "was not kept, as the Ingress is too large and its annotations are too long";

export const CUT_REMEDY =
  "Shorten the value, or do what the problem ObjectTooLarge of the Ingress says";

/** Null for an object that is whole. A field that no API has, so that nobody can write it there. */
export function excessOf(object: unknown): Excess | null {
  const { excess } = (object ?? {}) as { readonly excess?: Partial<Excess> };
  const bound = BOUNDS.find((each) => each === excess?.bound);
  if (bound === undefined || typeof excess?.limit !== "number") return null;
  const { limit, hosts = [], hasMoreHosts = false } = excess;
  return { bound, limit, hosts, hasMoreHosts };
}

const TEXTS: Readonly<Record<Excess["bound"], (limit: number) => readonly [string, string]>> = {
  paths: (limit) => [
    `it has more than ${limit} paths`,
    `Split it into Ingresses of at most ${limit} paths, or raise --max-ingress-paths of the ` +
    "controller",
  ],
  bytes: (limit) => [
    `it has more than ${limit} bytes`,
    `Split it into objects of at most ${limit} bytes, or raise --max-object-bytes of the controller`,
  ],
  namespace: (limit) => [
    `the objects of its kind in the namespace have more than ${limit} bytes together`,
    "Remove objects of the kind from the namespace, or raise --max-namespace-bytes of the " +
    "controller",
  ],
  secrets: (limit) => [
    `the namespace references more than ${limit} Secrets`,
    "Remove references to Secrets from the namespace, or raise --max-namespace-certificates of the " +
    "controller",
  ],
  secretBytes: (limit) => [
    `the Secrets that the namespace references have more than ${limit} bytes together`,
    "Remove references to Secrets from the namespace, or raise --max-namespace-bytes of the " +
    "controller",
  ],
  configMaps: (limit) => [
    `the Gateways of the namespace reference more than ${limit} ConfigMaps`,
    "Have several Gateways reference the same one, or raise --max-namespace-certificates of the " +
    "controller",
  ],
  configMapBytes: (limit) => [
    `the ConfigMaps that Gateways of the namespace reference have more than ${limit} bytes together`,
    "Have several Gateways reference the same one, or raise --max-namespace-bytes of the controller",
  ],
};

/** What is wrong, as a clause, and the remedy. */
export function describeExcess(
  { bound, limit }: Exceeded,
): readonly [what: string, remedy: string] {
  return TEXTS[bound](limit);
}
