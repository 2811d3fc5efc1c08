/**
 * The contract between the controller and the proxy: one immutable configuration.
 *
 * In: the schema (`schema.ts`), which documents each field. Out: the types that `translate` makes,
 * `parse.ts` checks and `proxy/router` compiles. Everything is plain JSON but for private keys, which
 * are `Secret` values so that they never print.
 */
import type { Static, TSchema } from "typebox";
import type { Frozen } from "./schema_hints.ts";
import type { BLOCKED_CLIENTS, FILTER } from "./filter_schema.ts";
import type * as schema from "./schema.ts";

/** Raised when an older reader would misunderstand the file, or would refuse a part of it. */
export const SNAPSHOT_FORMAT = 2;

type Of<S extends TSchema> = Frozen<Static<S>>;

export interface Snapshot extends Of<typeof schema.SNAPSHOT> {}
export interface SnapshotVersion extends Of<typeof schema.VERSION> {}
export interface Listener extends Of<typeof schema.LISTENER> {}
export interface HostSettings extends Of<typeof schema.HOST_SETTINGS> {}
export interface Route extends Of<typeof schema.ROUTE> {}
export interface RouteMatch extends Of<typeof schema.ROUTE_MATCH> {}
export interface PathMatch extends Of<typeof schema.PATH_MATCH> {}
export interface ForwardAction extends Of<typeof schema.FORWARD> {}
export interface ReplyAction extends Of<typeof schema.REPLY> {}
export type Action = ForwardAction | ReplyAction;
export interface FilterSet extends Of<typeof schema.FILTER_SET> {}
export type FilterSpec = Of<typeof FILTER>;
export interface BlockedClients extends Of<typeof BLOCKED_CLIENTS> {}
export interface GlobalConfig extends Of<typeof schema.GLOBAL_CONFIG> {}
export interface Policy extends Of<typeof schema.POLICY> {}
export interface Origin extends Of<typeof schema.ORIGIN> {}
export interface Upstream extends Of<typeof schema.UPSTREAM> {}
export type { Balance } from "./setting_values.ts";
export interface UpstreamTls extends Of<typeof schema.UPSTREAM_TLS> {}
export interface EndpointList extends Of<typeof schema.ENDPOINT_LIST> {}
export interface DnsName extends Of<typeof schema.DNS_NAME> {}
export interface Endpoint extends Of<typeof schema.ENDPOINT> {}
export interface Certificate extends Of<typeof schema.CERTIFICATE> {}
export interface Credentials extends Of<typeof schema.CREDENTIALS> {}
export interface PemText extends Of<typeof schema.PEM_TEXT> {}
export interface PemSecret extends Of<typeof schema.PEM_SECRET> {}
export interface PemFile extends Of<typeof schema.PEM_FILE> {}

/** What is neither a list of parts, nor routes, nor the version. */
export interface Rest extends Of<typeof schema.REST> {}

/** Names of the lists whose parts have ids, but for routes, which belong to their hosts. */
export type PartList = Exclude<
  {
    [K in keyof Snapshot]-?: NonNullable<Snapshot[K]> extends readonly { readonly id: string }[] ? K
      : never;
  }[keyof Snapshot],
  "routes"
>;

export type PartOf<L extends PartList> = NonNullable<Snapshot[L]>[number];

export interface HostChange {
  readonly host: string;
  /** All of its routes until now, in order; none for a new host. */
  readonly before: readonly Route[];
  /** All of its routes from now on, in order; none for a removed host. */
  readonly routes: readonly Route[];
}

export interface PartChange<T> {
  /** New and changed ones, as they are now. */
  readonly changed: readonly T[];
  /** Changed and removed ones, as they were. */
  readonly replaced: readonly T[];
  /** Ids. */
  readonly removed: readonly string[];
}

export type PartChanges = { readonly [L in PartList]: PartChange<PartOf<L>> };

/**
 * What differs between two snapshots, by the parts that both are made of: whoever follows snapshots
 * looks at what changed, and at nothing else.
 */
export interface SnapshotChange {
  /** What it is a change of: for whoever follows another snapshot it means nothing. */
  readonly base: Snapshot;
  readonly hosts: readonly HostChange[];
  readonly parts: PartChanges;
}
