/**
 * The proxies of this replica's streams, for people and programs. In: sessions, and what they are to
 * have. Out: the text of `/proxies`, whether the newest is in force everywhere, and problems where a
 * proxy will not take it.
 */
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import type { Content } from "../../shared/stream/content.ts";
import type { RefusalCode } from "../../shared/stream/messages.ts";
import { MAX_UPDATE_BYTES } from "../../shared/stream/protocol.ts";
import { VERSION } from "../../shared/version.ts";
import type { Session, ToldReason } from "./session.ts";

/** Whether what users wrote is in force; for their objects' status. */
export interface Programmed {
  /** Every proxy that is connected has the newest in force, and there is one. */
  readonly programmed: boolean;
  readonly connected: number;
  readonly inSync: number;
}

/** What is shown of a session. */
export type ShownSession = Pick<
  Session,
  | "name"
  | "peer"
  | "identity"
  | "zone"
  | "openedAt"
  | "build"
  | "inForce"
  | "isInSync"
  | "syncedAt"
  | "unsent"
  | "refusal"
  | "obstacles"
>;

/**
 * Milliseconds that a proxy may call what it gets older than what it has, before that is a problem:
 * catching up with the replica from which it has that takes a moment.
 */
const OLDER_PATIENCE = 30_000;

/** Proxies that a message names. */
const MAX_NAMES = 3;

export function programmed(sessions: readonly ShownSession[]): Programmed {
  const inSync = sessions.filter(({ isInSync }) => isInSync).length;
  const connected = sessions.length;
  return { programmed: connected > 0 && inSync === connected, connected, inSync };
}

/**
 * JSON, each proxy on a line of its own.
 *
 * @param now On the monotonic clock, in ms, as in sessions.
 * @param wall The same moment, in ms since the epoch.
 */
export function showProxies(
  sessions: readonly ShownSession[],
  current: Content | null,
  now: number,
  wall: number,
): string {
  const time = (at: number | null) =>
    at === null ? null : new Date(wall - (now - at)).toISOString();
  const lines = sessions.toSorted((a, b) => a.name < b.name ? -1 : 1).map((session) => {
    const { name, identity, peer, zone, openedAt, build, inForce, isInSync, refusal } = session;
    return JSON.stringify({
      name,
      node: identity.node,
      zone,
      address: peer,
      connected: time(openedAt),
      build,
      inSync: isInSync,
      lastSync: time(session.syncedAt),
      unsentBytes: session.unsent,
      version: inForce.version,
      hash: inForce.hash,
      obstacles: session.obstacles,
      refused: refusal === null ? null : {
        code: refusal.code,
        reason: refusal.reason,
        since: time(refusal.at),
        hash: refusal.hash,
      },
    });
  });
  const head = JSON.stringify({
    ...programmed(sessions),
    version: current?.version ?? null,
    hash: current?.hash ?? null,
  });
  const list = lines.length === 0 ? "[]" : `[\n${lines.join(",\n")}\n]`;
  return `${head.slice(0, -1)},"proxies":${list}}`;
}

/**
 * One for each way in which proxies refuse, whatever reasons they give: a proxy may have a new one
 * for each update.
 *
 * @param workload What the proxies are made by.
 * @param now On the monotonic clock, in ms, as in sessions.
 */
export function refusalProblems(
  sessions: readonly ShownSession[],
  workload: ObjectRef,
  now: number,
): Problem[] {
  const groups = new Map<
    RefusalCode,
    { readonly told: ToldReason[]; readonly by: ShownSession[] }
  >();
  for (const session of sessions) {
    const { refusal, isInSync } = session;
    if (refusal === null || isInSync) continue;
    if (refusal.code === "older" && now - refusal.at < OLDER_PATIENCE) continue;
    const group = groups.get(refusal.code) ?? { told: [], by: [] };
    groups.set(refusal.code, group);
    group.told.push(refusal.told);
    group.by.push(session);
  }
  return [...groups].map(([code, { told, by }]) => {
    const { reason } = told.reduce((first, one) => one.at < first.at ? one : first);
    const others = told.some((one) => one.reason !== reason)
      ? ", and others; /proxies has all"
      : "";
    const names = by.map(({ name, build }) => build === VERSION ? name : `${name} (${build})`)
      .sort();
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
    const who = `${names.slice(0, MAX_NAMES).join(", ")}${more}`;
    return {
      object: workload,
      field: "",
      reason: "ConfigurationRejected",
      message: `${who}: the configuration was rejected (${code}): ${reason}${others}; ` +
        "the previous one stays active",
      remedy: REMEDIES[code](by.some(({ build }) => build !== VERSION)),
      severity: "error",
    };
  });
}

/** @param bytes Of a configuration that cannot be streamed for these; null for none. */
export function tooLargeProblems(bytes: number | null, workload: ObjectRef): Problem[] {
  if (bytes === null) return [];
  // Whole ones, so that not each change of it is another problem.
  const mebibytes = (count: number) => Math.ceil(count / 1024 ** 2);
  return [{
    object: workload,
    field: "",
    reason: "ConfigurationTooLargeForStream",
    message: `the configuration has ${mebibytes(bytes)} MiB, and the stream takes ` +
      `${mebibytes(MAX_UPDATE_BYTES)} MiB; proxies keep their configuration, and receive ` +
      "what fits into mounted files",
    remedy: "Delete Ingresses and certificates that are not needed, or divide them among several " +
      "controllers by --watch-namespace",
    severity: "error",
  }];
}

/** By whether proxies are of another version than the controller. */
const REMEDIES: Readonly<Record<RefusalCode, (isOther: boolean) => string>> = {
  invalid: (isOther) =>
    isOther
      ? `Run proxies of the controller's version, ${VERSION}: finish the rollout, or give ` +
        "--proxy-server-image the image of that version"
      : "Change what the reason names, and report it as a bug in the controller",
  loss: () =>
    "Check whether the routes are to be removed; if so, restart the proxy or raise its " +
    "--max-route-loss",
  empty: () =>
    "Check whether there should be no route at all; if so, the files say so within minutes",
  failed: () => "Read the proxy's log, which says what failed",
  older: () =>
    "Check whether resource versions went back, as after restoring etcd from a " +
    "backup; if so, restart the proxies",
};
