/**
 * A configuration as a proxy puts it together from what it is sent. In: the messages `snapshot` and
 * `delta`, from a controller of any version. Out: the snapshot that they make, or what is wrong. What
 * did not change keeps its identity: the same routes, upstreams and certificates are the same
 * objects, and a list without a change is the same list.
 *
 * Nothing that a peer sends throws.
 */
import { restOf } from "../snapshot/serialise.ts";
import { ConfigCheck, type ConfigProblem, describe } from "../snapshot/config_check.ts";
import { compareHosts } from "../host/host_order.ts";
import { KNOWN_LISTENERS } from "../snapshot/listener_id.ts";
import {
  type Ids,
  type KnownIds,
  strayCertificate,
  strayOfAction,
} from "../snapshot/references.ts";
import {
  type Snapshot,
  SNAPSHOT_FORMAT,
  type SnapshotChange,
  type SnapshotVersion,
} from "../snapshot/types.ts";
import { ofLists, PART_LIST, PART_LISTS, type PartList, type PartOf } from "./part_lists.ts";
import type { Content, PartUnit } from "./content.ts";
import type { DeltaMessage, SnapshotMessage } from "./messages.ts";
import {
  partReader,
  rawRest,
  type RawUnit,
  rawUnits,
  readHostUnit,
  readRestUnit,
  readUnit,
  type ReceivedUnit,
  type UnitReader,
} from "./received_units.ts";
import {
  changeOf,
  type Difference,
  differenceBetween,
  differenceOfMessage,
  EMPTY,
  goneIds,
  type RawMessage,
  type RawUnits,
  type ReceivedParts,
  routesAfter,
  type Sections,
  valuesOf,
} from "./received_sections.ts";
import { SoundRoutes } from "./sound_routes.ts";
import {
  findUnit,
  HashSum,
  inOrder,
  type KeyOrder,
  merge,
  ORDER,
  repeatedKey,
  type Section,
  type Unit,
} from "./unit.ts";

export type Taken =
  | {
    readonly ok: true;
    readonly snapshot: Snapshot;
    /** From the one that could be used before; null where that is not known. */
    readonly change: SnapshotChange | null;
    readonly version: SnapshotVersion;
    /** Content hash, as the message has it. */
    readonly hash: string;
    /** Of the units in the message: none is fatal. */
    readonly problems: readonly ConfigProblem[];
  }
  | {
    readonly ok: false;
    /**
     * `lost`: what is here is not what the controller believes; a whole snapshot helps. `invalid`:
     * it is what the controller sent, and cannot be used; only another content helps, which may come
     * as a delta.
     */
    readonly kind: "lost" | "invalid";
    /** One line, without secrets. */
    readonly reason: string;
  };

/** What one proxy has been sent. It outlives connections: a delta fits whoever sends it. */
export class ReceivedContent {
  /** Of the last content that was known; units are of use by their hashes even when it is lost. */
  #sections: Sections = EMPTY;
  #sum = new HashSum();
  #hash: string | null = null;
  /** The last that could be used, whose lists are used again. */
  #last: Usable | null = null;
  /** Its routes; none while it is the one that this began with, which was checked elsewhere. */
  readonly #routes = new SoundRoutes();

  /** Begins with a content that the proxy has from elsewhere. */
  static from(content: Content): ReceivedContent {
    const received = new ReceivedContent();
    received.#sections = {
      hosts: content.hosts.map(known),
      parts: ofLists((list) => content.parts[list].map(known<unknown>)) as ReceivedParts,
      rest: {
        ...content.rest,
        value: restOf(content.snapshot),
        fault: null,
      },
    };
    received.#sum = content.sum();
    received.#hash = content.hash;
    const { snapshot } = content;
    // A file's routes may stand in another order of their hosts.
    received.#last = { snapshot, sections: received.#sections, isChecked: false };
    return received;
  }

  /** Of what is here, whether it can be used or not; null for nothing, or when it is lost. */
  get hash(): string | null {
    return this.#hash;
  }

  /**
   * What follows from a message. Whatever becomes of the snapshot, its content is the base of the
   * next delta, unless this one is `lost` or is not understood at all.
   */
  take(message: SnapshotMessage | DeltaMessage): Taken {
    const check = new ConfigCheck();
    const fields = message.content.reveal();
    const isWhole = message.kind === "snapshot";
    const { format } = fields;
    if (typeof format === "number" && format !== SNAPSHOT_FORMAT) {
      const [order, remedy] = format > SNAPSHOT_FORMAT
        ? ["newer", "run a proxy of the controller's version"]
        : ["older", "run a controller of the proxy's version"];
      const known = `${SNAPSHOT_FORMAT}, which this proxy reads`;
      return this.#forget("invalid", `format ${format} is ${order} than ${known}; ${remedy}`);
    }
    if (message.kind === "delta" && message.base !== this.#hash) {
      return this.#forget("lost", `the delta is for ${message.base}, and here is ${this.#hash}`);
    }
    const raw = readMessage(fields, isWhole, check);
    // Another whole snapshot would be as wrong as this one.
    const failure = isWhole ? "invalid" : "lost";
    if (raw === null) {
      const [{ path, message }] = check.refusals;
      return this.#forget(failure, `${path}: ${message}`);
    }
    const before = this.#sections;
    const sections = this.#merge(raw, isWhole, check);
    const difference = isWhole
      ? differenceBetween(before, sections)
      : differenceOfMessage(before, sections, raw);
    const sum = this.#sumWith(before.rest, sections.rest, difference);
    if (sum.toHex() !== message.hash) {
      return this.#forget(failure, `its hash is ${sum.toHex()}, and should be ${message.hash}`);
    }
    this.#sections = sections;
    this.#sum = sum;
    this.#hash = message.hash;
    const last = this.#last;
    const sound = last?.isChecked ? last.sections : EMPTY;
    const news = sound === before ? difference : differenceBetween(sound, sections);
    const known = knownIds(sections);
    const fault = faultIn(sections, news) ??
      this.#routes.take(sections.hosts, news.hosts, known, goneIds(news));
    if (fault !== null) return { ok: false, kind: "invalid", reason: fault };
    const { version, hash } = message;
    const change = last?.isChecked ? changeOf(last.snapshot, news) : null;
    const snapshot = this.#snapshotOf(sections, version, change);
    this.#last = { snapshot, sections, isChecked: true };
    return { ok: true, snapshot, change, version, hash, problems: check.problems() };
  }

  #forget(kind: "lost" | "invalid", reason: string): Taken {
    this.#hash = null;
    return { ok: false, kind, reason };
  }

  /** The sections after a message. Units that it repeats are those that are here. */
  #merge({ hosts, parts, rest }: RawMessage, isWhole: boolean, check: ConfigCheck): Sections {
    const before = this.#sections;
    const follow = <V>(
      section: Exclude<Section, "rest">,
      { units, removed }: RawUnits,
      known: readonly ReceivedUnit<V>[],
      read: UnitReader<V>,
      order: KeyOrder,
    ): readonly ReceivedUnit<V>[] => {
      const now = units.map((raw) =>
        unitOf(section, raw, findUnit(known, raw.key, order), read, check)
      );
      if (isWhole) return isSameList(now, known) ? known : now;
      return merge(known, now, removed, order);
    };
    return {
      parts: ofLists((list) =>
        follow<PartOf<PartList>>(
          PART_LIST[list].section,
          parts[list],
          before.parts[list],
          partReader(list),
          ORDER.part,
        )
      ) as ReceivedParts,
      hosts: follow("host", hosts, before.hosts, readHostUnit, ORDER.host),
      rest: unitOf("rest", rest, before.rest, readRestUnit, check),
    };
  }

  #sumWith(before: Unit, rest: Unit, { hosts, parts }: Difference): HashSum {
    const sum = new HashSum(this.#sum);
    for (const { changed, replaced } of [hosts, ...PART_LISTS.map((list) => parts[list])]) {
      sum.toggleAll(replaced);
      sum.toggleAll(changed);
    }
    sum.toggle(before);
    sum.toggle(rest);
    return sum;
  }

  #snapshotOf(
    sections: Sections,
    version: SnapshotVersion,
    change: SnapshotChange | null,
  ): Snapshot {
    const last = this.#last;
    const { hosts, parts, rest } = sections;
    const listOf = <L extends PartList>(list: L): readonly PartOf<L>[] =>
      last?.sections.parts[list] === parts[list]
        ? (last.snapshot[list] ?? []) as readonly PartOf<L>[]
        : valuesOf<PartOf<L>>(parts[list]);
    const lists = PART_LISTS.filter((list) => parts[list].length > 0 || !PART_LIST[list].isOptional)
      .map((list) => [list, listOf(list)]);
    return {
      defaultAction: null,
      defaultCertificate: null,
      ...rest.value,
      ...Object.fromEntries(lists) as Pick<Snapshot, PartList>,
      format: SNAPSHOT_FORMAT,
      version,
      routes: last?.sections.hosts === hosts
        ? last.snapshot.routes
        : change === null
        ? valuesOf(hosts).flat()
        : routesAfter(change.base.routes, change.hosts, compareHosts),
    };
  }
}

function known<T>({ key, hash, part }: PartUnit<T>): ReceivedUnit<T> {
  return { key, hash, value: part, fault: null };
}

function unitOf<V>(
  section: Section,
  raw: RawUnit,
  before: ReceivedUnit<V> | undefined,
  read: UnitReader<V>,
  check: ConfigCheck,
): ReceivedUnit<V> {
  if (before?.hash === raw.hash) return before;
  return readUnit(section, raw, before?.value ?? undefined, read, check);
}

/** The message's units in order, no key of them twice; null where that has been refused. */
function readMessage(
  fields: Readonly<Record<string, unknown>>,
  isWhole: boolean,
  check: ConfigCheck,
): RawMessage | null {
  check.oneOf(fields.format, "$.format", [SNAPSHOT_FORMAT]);
  const rest = rawRest(fields, check);
  const gone = isWhole
    ? {}
    : check.object(fields.removed, "$.removed", ["hosts", ...PART_LISTS]) ?? {};
  const readList = (list: "hosts" | PartList): RawUnits => {
    const section = list === "hosts" ? "host" : PART_LIST[list].section;
    const order = list === "hosts" ? ORDER.host : ORDER.part;
    const isOptional = list !== "hosts" && PART_LIST[list].isOptional;
    const written = isOptional ? fields[list] ?? [] : fields[list];
    const units = inOrder(rawUnits(written, `$.${list}`, section, check), order);
    refuseRepeated(repeatedKey(units, order), `$.${list}`, check);
    const path = `$.removed.${list}`;
    const removed = check.array(gone[list], path, "empty", (key, at) => check.name(key, at));
    for (const key of removed) {
      if (findUnit(units, key, order) !== undefined) refuseRepeated(key, path, check);
    }
    return { units, removed };
  };
  const raw = { hosts: readList("hosts"), parts: ofLists(readList) };
  return check.refused || rest === null ? null : { ...raw, rest };
}

function refuseRepeated(key: string | null, path: string, check: ConfigCheck): void {
  if (key === null) return;
  check.refuse(path, `${describe(key)} is in it twice`, "write each part once");
}

/** A content that could be used. */
interface Usable {
  readonly snapshot: Snapshot;
  readonly sections: Sections;
  /** Its parts and routes were checked here, and its routes stand in the order of their hosts. */
  readonly isChecked: boolean;
}

/**
 * Why the content cannot be used, its routes' ids and references apart; null where it can.
 *
 * @param news What differs from the last that could.
 */
function faultIn(sections: Sections, news: Difference): string | null {
  const { parts, rest } = sections;
  if (rest.fault !== null) return rest.fault;
  for (const { changed } of [...PART_LISTS.map((list) => news.parts[list]), news.hosts]) {
    const units: readonly ReceivedUnit<unknown>[] = changed;
    const fault = units.find(({ fault }) => fault !== null)?.fault ?? null;
    if (fault !== null) return fault;
  }
  const wanted = rest.value?.defaultCertificate ?? null;
  if (wanted !== null && findUnit(parts.certificates, wanted, ORDER.part) === undefined) {
    return `$.defaultCertificate: ${describe(wanted)} is the id of no certificate`;
  }
  const listener = strayListener(sections, news);
  if (listener !== null) return listener;
  const action = rest.value?.defaultAction ?? null;
  const stray = action && strayOfAction(action, "$.defaultAction", knownIds(sections));
  return stray && `${stray.field}: ${stray.message}`;
}

/** Why a listener refers to nothing; what has not changed had its certificates before. */
function strayListener({ parts }: Sections, news: Difference): string | null {
  const isNone = news.parts.listeners.changed.length + news.parts.certificates.removed.length === 0;
  if (isNone) return null;
  const known = idsOf(parts.certificates);
  for (const { key, value } of parts.listeners) {
    const stray = value && strayCertificate(value, known);
    if (stray) return `listener ${describe(key)}, ${stray.field}: ${stray.message}`;
  }
  return null;
}

function idsOf(units: readonly Unit[]): Ids {
  return { has: (id) => findUnit(units, id, ORDER.part) !== undefined };
}

function knownIds({ parts }: Sections): KnownIds {
  const listeners = idsOf(parts.listeners);
  return {
    upstreams: idsOf(parts.upstreams),
    filterSets: idsOf(parts.filterSets),
    policies: idsOf(parts.policies),
    listeners: { has: (id) => KNOWN_LISTENERS.has(id) || listeners.has(id) },
  };
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
