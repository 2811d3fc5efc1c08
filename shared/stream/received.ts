/**
 * A configuration as a proxy puts it together from what it is sent. In: the messages `snapshot` and
 * `delta`, from a controller of any version. Out: the snapshot that they make, or what is wrong. What
 * did not change keeps its identity: the same routes, upstreams and certificates are the same
 * objects, and a list without a change is the same list.
 *
 * Nothing that a peer sends throws.
 */
import { ConfigCheck, type ConfigProblem, describe } from "../snapshot/config_check.ts";
import {
  type Certificate,
  type Route,
  type Snapshot,
  SNAPSHOT_FORMAT,
  type SnapshotVersion,
  type Upstream,
} from "../snapshot/types.ts";
import type { Content, PartUnit } from "./content.ts";
import type { DeltaMessage, SnapshotMessage } from "./messages.ts";
import {
  rawRest,
  type RawUnit,
  rawUnits,
  readCertificateUnit,
  readHostUnit,
  readRestUnit,
  readUnit,
  readUpstreamUnit,
  type ReceivedUnit,
  type Rest,
  type UnitReader,
} from "./received_units.ts";
import { SoundRoutes } from "./sound_routes.ts";
import {
  differenceOf,
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

interface Sections {
  readonly hosts: readonly ReceivedUnit<readonly Route[]>[];
  readonly upstreams: readonly ReceivedUnit<Upstream>[];
  readonly certificates: readonly ReceivedUnit<Certificate>[];
  readonly rest: ReceivedUnit<Rest>;
}

type ListName = Exclude<keyof Sections, "rest">;

interface RawMessage {
  readonly lists: Readonly<Record<ListName, readonly RawUnit[]>>;
  readonly rest: RawUnit;
  readonly removed: Readonly<Record<ListName, readonly string[]>>;
}

const LISTS = ["hosts", "upstreams", "certificates"] as const;

const SECTION_OF = {
  hosts: "host",
  upstreams: "upstream",
  certificates: "certificate",
} as const;

const EMPTY: Sections = {
  hosts: [],
  upstreams: [],
  certificates: [],
  rest: { key: "", hash: "\0".repeat(32), value: null, fault: null },
};

/** What one proxy has been sent. It outlives connections: a delta fits whoever sends it. */
export class ReceivedContent {
  /** Of the last content that was known; units are of use by their hashes even when it is lost. */
  #sections: Sections = EMPTY;
  #sum = new HashSum();
  #hash: string | null = null;
  /** The last that could be used, whose lists are used again. */
  #last: { readonly snapshot: Snapshot; readonly sections: Sections } | null = null;
  /** Of that one. */
  readonly #routes = new SoundRoutes();

  /** Begins with a content that the proxy has from elsewhere. */
  static from(content: Content): ReceivedContent {
    const received = new ReceivedContent();
    const { defaultAction, defaultCertificate, loopMark, denied } = content.snapshot;
    received.#sections = {
      hosts: content.hosts.map(known),
      upstreams: content.upstreams.map(known),
      certificates: content.certificates.map(known),
      rest: {
        ...content.rest,
        value: { defaultAction, defaultCertificate, loopMark, denied },
        fault: null,
      },
    };
    received.#sum = content.sum();
    received.#hash = content.hash;
    received.#last = { snapshot: content.snapshot, sections: received.#sections };
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
    if (typeof fields.format === "number" && fields.format > SNAPSHOT_FORMAT) {
      const reason = `format ${fields.format} is newer than ${SNAPSHOT_FORMAT}, which this proxy ` +
        `reads; run a proxy of the controller's version`;
      return this.#forget("invalid", reason);
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
    const sections = this.#merge(raw, isWhole, check);
    const sum = this.#sumWith(sections);
    if (sum.toHex() !== message.hash) {
      return this.#forget(failure, `its hash is ${sum.toHex()}, and should be ${message.hash}`);
    }
    this.#sections = sections;
    this.#sum = sum;
    this.#hash = message.hash;
    const fault = faultIn(sections, this.#last?.sections) ??
      this.#routes.take(sections.hosts, sections.upstreams);
    if (fault !== null) return { ok: false, kind: "invalid", reason: fault };
    const { version, hash } = message;
    const snapshot = this.#snapshotOf(sections, version);
    this.#last = { snapshot, sections };
    return { ok: true, snapshot, version, hash, problems: check.problems() };
  }

  #forget(kind: "lost" | "invalid", reason: string): Taken {
    this.#hash = null;
    return { ok: false, kind, reason };
  }

  /** The sections after a message. Units that it repeats are those that are here. */
  #merge({ lists, rest, removed }: RawMessage, isWhole: boolean, check: ConfigCheck): Sections {
    const before = this.#sections;
    const follow = <V>(
      name: ListName,
      known: readonly ReceivedUnit<V>[],
      read: UnitReader<V>,
    ): readonly ReceivedUnit<V>[] => {
      const section = SECTION_OF[name];
      const order = ORDER[section];
      const units = lists[name].map((raw) =>
        unitOf(section, raw, findUnit(known, raw.key, order), read, check)
      );
      if (isWhole) return isSameList(units, known) ? known : units;
      return merge(known, units, removed[name], order);
    };
    // In this order an upstream, and a certificate, is there before a route needs it.
    const upstreams = follow("upstreams", before.upstreams, readUpstreamUnit);
    const certificates = follow("certificates", before.certificates, readCertificateUnit);
    const hosts = follow("hosts", before.hosts, readHostUnit);
    return {
      hosts,
      upstreams,
      certificates,
      rest: unitOf("rest", rest, before.rest, readRestUnit, check),
    };
  }

  #sumWith(now: Sections): HashSum {
    const sum = new HashSum(this.#sum);
    const before = this.#sections;
    for (const name of LISTS) {
      const order = ORDER[SECTION_OF[name]];
      const { changed, replaced } = differenceOf<Unit>(before[name], now[name], order);
      sum.toggleAll(replaced);
      sum.toggleAll(changed);
    }
    sum.toggle(before.rest);
    sum.toggle(now.rest);
    return sum;
  }

  #snapshotOf(sections: Sections, version: SnapshotVersion): Snapshot {
    const last = this.#last;
    const { hosts, upstreams, certificates, rest } = sections;
    return {
      format: SNAPSHOT_FORMAT,
      version,
      routes: last?.sections.hosts === hosts ? last.snapshot.routes : valuesOf(hosts).flat(),
      defaultAction: rest.value?.defaultAction ?? null,
      upstreams: last?.sections.upstreams === upstreams
        ? last.snapshot.upstreams
        : valuesOf(upstreams),
      certificates: last?.sections.certificates === certificates
        ? last.snapshot.certificates
        : valuesOf(certificates),
      defaultCertificate: rest.value?.defaultCertificate ?? null,
      ...(rest.value?.loopMark === undefined ? {} : { loopMark: rest.value.loopMark }),
      ...(rest.value?.denied === undefined ? {} : { denied: rest.value.denied }),
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
  const listOf = (name: ListName) => {
    const order = ORDER[SECTION_OF[name]];
    const units = inOrder(rawUnits(fields[name], `$.${name}`, SECTION_OF[name], check), order);
    refuseRepeated(repeatedKey(units, order), `$.${name}`, check);
    return units;
  };
  const lists = {
    hosts: listOf("hosts"),
    upstreams: listOf("upstreams"),
    certificates: listOf("certificates"),
  };
  const gone = isWhole ? {} : check.object(fields.removed, "$.removed", LISTS);
  const removedOf = (name: ListName) => {
    const order: KeyOrder = ORDER[SECTION_OF[name]];
    const path = `$.removed.${name}`;
    const keys = check.array(gone?.[name], path, "empty", (key, at) => check.name(key, at));
    for (const key of keys) {
      if (findUnit(lists[name], key, order) !== undefined) refuseRepeated(key, path, check);
    }
    return keys;
  };
  const removed = {
    hosts: removedOf("hosts"),
    upstreams: removedOf("upstreams"),
    certificates: removedOf("certificates"),
  };
  return check.refused || rest === null ? null : { lists, rest, removed };
}

function refuseRepeated(key: string | null, path: string, check: ConfigCheck): void {
  if (key === null) return;
  check.refuse(path, `${describe(key)} is in it twice`, "write each part once");
}

/**
 * Why the content cannot be used, its routes' ids and upstreams apart; null where it can. `sound` is
 * the last that could.
 */
function faultIn(sections: Sections, sound: Sections | undefined): string | null {
  const { hosts, upstreams, certificates, rest } = sections;
  const bad = rest.fault ?? firstFault(upstreams, sound?.upstreams) ??
    firstFault(certificates, sound?.certificates) ?? firstFault(hosts, sound?.hosts);
  if (bad !== null) return bad;
  const wanted = rest.value?.defaultCertificate ?? null;
  if (wanted !== null && findUnit(certificates, wanted, ORDER.certificate) === undefined) {
    return `$.defaultCertificate: ${describe(wanted)} is the id of no certificate`;
  }
  const action = rest.value?.defaultAction;
  if (
    action?.kind === "forward" &&
    findUnit(upstreams, action.upstream, ORDER.upstream) === undefined
  ) {
    return `$.defaultAction.upstream: ${describe(action.upstream)} is the id of no upstream`;
  }
  return null;
}

function firstFault(
  units: readonly ReceivedUnit<unknown>[],
  sound: readonly ReceivedUnit<unknown>[] | undefined,
): string | null {
  if (units === sound) return null;
  return units.find(({ fault }) => fault !== null)?.fault ?? null;
}

function valuesOf<V>(units: readonly ReceivedUnit<V>[]): V[] {
  return units.flatMap(({ value }) => value === null ? [] : [value]);
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
