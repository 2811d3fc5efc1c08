/**
 * The lists of a snapshot whose parts travel as units of their own, beside hosts. In: nothing. Out:
 * for each list the section that it is hashed under, the schema of its parts and how they are written.
 */
import type { TSchema } from "typebox";
import * as schema from "../snapshot/schema.ts";
import {
  certificateText,
  credentialsText,
  filterSetText,
  hostSettingsText,
  listenerText,
  policyText,
  upstreamText,
} from "../snapshot/serialise.ts";
import { secretFileName, withoutUsers } from "../credentials/credentials.ts";
import type { Credentials, PartList } from "../snapshot/types.ts";
import type { PartSection } from "./unit.ts";

export type { PartList, PartOf } from "../snapshot/types.ts";

/** All of them, in the order in which a reader needs them: what others refer to comes first. */
export const PART_LISTS = Object.keys(
  {
    listeners: true,
    hostSettings: true,
    filterSets: true,
    policies: true,
    upstreams: true,
    credentials: true,
    certificates: true,
  } satisfies Readonly<Record<PartList, true>>,
) as readonly PartList[];

/** Something for each list. */
export type OfLists<T> = { readonly [L in PartList]: T };

/** What `make` gives for each list. */
export function ofLists<T>(make: (list: PartList) => T): OfLists<T> {
  return Object.fromEntries(PART_LISTS.map((list) => [list, make(list)])) as OfLists<T>;
}

interface PartListSpec {
  readonly section: PartSection;
  readonly schema: TSchema;
  /** The JSON of a part; with its key, where it has one. */
  readonly text: (part: never) => string;
  /** What of that is hashed, where it is not all. */
  readonly hashed?: (part: never) => string;
  /** The same of a part that has come, and has not been read. */
  readonly hashedRaw?: (part: object) => object;
  /** Whether snapshots and messages leave the list out where it is empty. */
  readonly isOptional: boolean;
}

export const PART_LIST: OfLists<PartListSpec> = {
  listeners: {
    section: "listener",
    schema: schema.LISTENER,
    text: listenerText,
    isOptional: true,
  },
  hostSettings: {
    section: "host settings",
    schema: schema.HOST_SETTINGS,
    text: hostSettingsText,
    isOptional: true,
  },
  filterSets: {
    section: "filter set",
    schema: schema.FILTER_SET,
    text: filterSetText,
    isOptional: true,
  },
  policies: {
    section: "policy",
    schema: schema.POLICY,
    text: policyText,
    isOptional: true,
  },
  upstreams: {
    section: "upstream",
    schema: schema.UPSTREAM,
    text: upstreamText,
    isOptional: false,
  },
  credentials: {
    section: "credentials",
    schema: schema.CREDENTIALS,
    text: credentialsText,
    hashed: (credentials: Credentials) => credentialsText(withoutUsers(credentials)),
    hashedRaw: withoutRawUsers,
    isOptional: true,
  },
  certificates: {
    section: "certificate",
    schema: schema.CERTIFICATE,
    text: certificateText,
    isOptional: false,
  },
};

/** As `withoutUsers`. */
function withoutRawUsers(part: object): object {
  const { users } = part as { readonly users?: unknown };
  if (typeof users !== "object" || users === null) return part;
  const { kind, text } = users as { readonly kind?: unknown; readonly text?: unknown };
  if (kind !== "secret" || typeof text !== "string") return part;
  return { ...part, users: { kind: "file", path: secretFileName(text) } };
}
