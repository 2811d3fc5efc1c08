/**
 * What one object says about all of its routes beside their backends. In: filters and a policy. Out:
 * both with their ids by content; the very same object for the same content.
 */
import { RecentValues } from "../../base/recent_values.ts";
import { TextMemo } from "../../base/text_memo.ts";
import { sha256Of } from "../../../shared/snapshot/published_set.ts";
import type { FilterSet, FilterSpec, Policy } from "../../../shared/snapshot/types.ts";

export type PolicySpec = Omit<Policy, "id">;

export interface RouteSettings {
  readonly filterSet: FilterSet | null;
  readonly policy: Policy | null;
  /** Bytes of both by their ids, where they are known: an id is made of the very text that counts. */
  readonly sizes?: ReadonlyMap<string, number>;
}

export const NO_SETTINGS: RouteSettings = { filterSet: null, policy: null };

/**
 * Characters of the settings that are kept, and of their keys: those of ten thousand objects that have some of their
 * own. One object may have 256 KiB of them, and others with each change.
 */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** Thousands of objects have the same few settings, and an id costs a hash. */
export class RouteSettingsPool {
  /** Of values of annotations. */
  readonly texts = new TextMemo();
  readonly #known = new RecentValues<RouteSettings>(MAX_KEPT_BYTES);

  /** Of all settings that are kept. */
  get bytes(): number {
    return this.#known.bytes;
  }

  /** `NO_SETTINGS` for neither filters nor a policy. */
  of(filters: readonly FilterSpec[], policy: PolicySpec): RouteSettings {
    const hasPolicy = Object.keys(policy).length > 0;
    if (filters.length === 0 && !hasPolicy) return NO_SETTINGS;
    const [filtersText, policyText] = [JSON.stringify(filters), JSON.stringify(policy)];
    return this.#kept(
      `${filtersText}${policyText}`,
      () => made(filters, filtersText, hasPolicy ? policy : null, policyText),
    );
  }

  /** As the function of this name. */
  withRewrite(settings: RouteSettings, rewrite: FilterSpec): RouteSettings {
    const { filterSet, policy } = settings;
    const key = JSON.stringify([filterSet?.id, policy?.id, rewrite]);
    return this.#kept(`rewrite ${key}`, () => withRewrite(settings, rewrite));
  }

  /** As the function of this name; the very same settings where there is no login. */
  withoutLogin(settings: RouteSettings): RouteSettings {
    if (!needsLogin(settings)) return settings;
    const { filterSet, policy } = settings;
    return this.#kept(`open ${filterSet?.id} ${policy?.id}`, () => withoutLogin(settings));
  }

  #kept(key: string, make: () => RouteSettings): RouteSettings {
    let settings = this.#known.get(key);
    if (settings === undefined) {
      settings = make();
      this.#known.set(key, settings, settingsSizes(settings).values().reduce((a, b) => a + b, 0));
    }
    return settings;
  }
}

/**
 * The same without basic and external authentication; lists of networks stay. As in ingress-nginx, the users of
 * basic authentication must be there all the same: without them, the path is denied.
 */
function withoutLogin(settings: RouteSettings): RouteSettings {
  const { filterSet, policy } = settings;
  const filters = filterSet?.filters.flatMap((filter): FilterSpec[] => {
    if (filter.kind !== "access") return [filter];
    const { basic, external: _external, ...lists } = filter;
    if (basic !== undefined) return [{ ...lists, requiredUsers: basic.credentials }];
    return lists.allow === undefined && lists.deny === undefined ? [] : [lists];
  }) ?? [];
  return { filterSet: filters.length === 0 ? null : { id: idOf(filters), filters }, policy };
}

/** Whether basic or external authentication is among the filters. */
export function needsLogin({ filterSet }: RouteSettings): boolean {
  return filterSet?.filters.some((filter) =>
    filter.kind === "access" && (filter.basic !== undefined || filter.external !== undefined)
  ) ?? false;
}

/** Whether requests for a path of an Ingress, as it is written, need no login. */
export function needsNoLogin(path: string, locations: readonly string[]): boolean {
  return locations.some((location) => path.startsWith(location));
}

/** Whether requests are authenticated by a subrequest. */
export function hasExternalAuth({ filterSet }: RouteSettings): boolean {
  return filterSet !== null &&
    filterSet.filters.some((filter) => filter.kind === "access" && filter.external !== undefined);
}

/** Where certificate authorities look, over plain HTTP (RFC 8555 §8.3). */
const ACME_LOCATION = "/.well-known/acme-challenge";

/** Whether requests for a path of an Ingress, as it is written, are challenges of certificates. */
export function isAcmeLocation(path: string): boolean {
  return path.startsWith(ACME_LOCATION);
}

/** Those of a path of an object that has others; null where they are the same. */
export function settingsOfPath(
  path: string,
  settings: RouteSettings,
  noAuthLocations: readonly string[],
  pool: RouteSettingsPool,
): RouteSettings | null {
  const open = needsNoLogin(path, noAuthLocations) ? pool.withoutLogin(settings) : settings;
  return withoutRedirect(path, open) ?? (open === settings ? null : open);
}

/** Null where there is no redirect to HTTPS, and where it stays. */
function withoutRedirect(path: string, { filterSet, policy }: RouteSettings): RouteSettings | null {
  const { when = "never" } = policy?.httpsRedirect ?? {};
  if (policy === null || when === "never" || !isAcmeLocation(path)) return null;
  const { id: _, ...spec } = policy;
  // As ingress-nginx does by default (no-tls-redirect-locations).
  const plain = { ...spec, httpsRedirect: { ...spec.httpsRedirect, when: "never" as const } };
  return { filterSet, policy: { id: idOf(plain), ...plain } };
}

function made(
  filters: readonly FilterSpec[],
  filtersText: string,
  policy: PolicySpec | null,
  policyText: string,
): RouteSettings {
  const { filterSet, sizes } = filters.length === 0
    ? { filterSet: null, sizes: new Map<string, number>() }
    : filterSetOf(filters, filtersText);
  if (policy === null) return { filterSet, policy, sizes };
  const id = idOfText(policyText);
  // The text of the policy has the braces.
  sizes.set(id, `"id":"${id}",`.length + policyText.length);
  return { filterSet, policy: { id, ...policy }, sizes };
}

/** The same with this rewrite in place of another; null for none. */
export function withRewrite(
  { filterSet, policy, sizes }: RouteSettings,
  rewrite: FilterSpec | null,
): RouteSettings {
  const others = filterSet?.filters.filter(({ kind }) => kind !== "rewrite") ?? [];
  const filters = rewrite === null ? others : [...others, rewrite];
  const isSame = filters.length === (filterSet?.filters.length ?? 0) && rewrite === null;
  if (isSame) return { filterSet, policy };
  if (filters.length === 0) return { filterSet: null, policy };
  const made = filterSetOf(filters, JSON.stringify(filters));
  if (policy === null) return { ...made, policy };
  const size = sizes?.get(policy.id);
  return size === undefined
    ? { filterSet: made.filterSet, policy }
    : { filterSet: made.filterSet, policy, sizes: made.sizes.set(policy.id, size) };
}

/** With its size. */
function filterSetOf(filters: readonly FilterSpec[], text: string) {
  const filterSet: FilterSet = { id: idOfText(text), filters };
  const size = `{"id":"${filterSet.id}","filters":}`.length + text.length;
  return { filterSet, sizes: new Map([[filterSet.id, size]]) };
}

/**
 * The same, rejecting blocked clients as the others do: that is the operator's, and no object may do
 * without it for want of room.
 */
export function withBlockedClients(settings: RouteSettings, wanted: RouteSettings): RouteSettings {
  const isBlocking = ({ filterSet }: RouteSettings) =>
    filterSet?.filters.some(({ kind }) => kind === "blocked-clients") === true;
  if (!isBlocking(wanted) || isBlocking(settings)) return settings;
  const filters = [
    { kind: "blocked-clients" as const },
    ...settings.filterSet?.filters ?? [],
  ];
  return { filterSet: { id: idOf(filters), filters }, policy: settings.policy };
}

/** Readers write the fields of one kind in one order, so the same content has the same text. */
function idOf(content: readonly FilterSpec[] | PolicySpec): string {
  return idOfText(JSON.stringify(content));
}

function idOfText(text: string): string {
  return sha256Of(text).slice(0, 32);
}

/** Bytes of each part, by id. */
export function settingsSizes(
  { filterSet, policy, sizes }: RouteSettings,
): ReadonlyMap<string, number> {
  if (filterSet === null && policy === null) return NO_SIZES;
  const parts = [filterSet, policy].filter((part) => part !== null);
  const isKnown = sizes?.size === parts.length && parts.every(({ id }) => sizes.has(id));
  if (isKnown) return sizes;
  return new Map(
    parts.map((part) => [part.id, JSON.stringify(part).length] as const),
  );
}

const NO_SIZES: ReadonlyMap<string, number> = new Map();
