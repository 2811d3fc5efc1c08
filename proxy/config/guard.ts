/**
 * Snapshots that can be read and still do not come into force. In: the one in force, the next, where
 * both come from, how much may go at once, and the memory that there is. Out: what speaks against the
 * next one, or null.
 *
 * Files and stream tell of the same cluster, and each may be late. So the version decides, and where
 * it does not, the stream does: it is the younger way, and hears of what was refused.
 */
import type { Snapshot, SnapshotChange } from "../../shared/snapshot/types.ts";
import {
  ACCEPTED_SHARE,
  type ProxyMemory,
  snapshotBudget,
  snapshotMemory,
  weighChange,
} from "../../shared/snapshot/memory.ts";
import { compareVersions, type VersionOrder } from "../../shared/snapshot/version_order.ts";
import type { ConfigProblem } from "../../shared/snapshot/parse.ts";
import type { RefusalCode } from "../../shared/stream/messages.ts";

/** Which way a snapshot has come. */
export type Origin = "file" | "stream";

export interface SnapshotOffer {
  readonly snapshot: Snapshot;
  /** What it differs in from another; null or left out where that is not known. */
  readonly change?: SnapshotChange | null;
  readonly origin: Origin;
  /** It has come at once, or as a change of nothing, so that no route was taken away by itself. */
  readonly isWhole: boolean;
}

export interface GuardRules {
  /** In percent of the routes in force; 0 for no limit. */
  readonly maxRouteLoss: number;
  /** There is a stream beside the files. */
  readonly hasStream: boolean;
  /** What a snapshot must fit; null without a limit. */
  readonly memory: ProxyMemory | null;
}

/** What speaks against an offer. */
export interface Objection {
  readonly problem: ConfigProblem;
  readonly code: RefusalCode;
  /** Nothing is wrong: what is in force came sooner by the other way. */
  readonly isLate: boolean;
}

/** Null where it may come into force. */
export function objectionTo(
  offer: SnapshotOffer,
  current: { readonly snapshot: Snapshot; readonly origin: Origin } | null,
  rules: GuardRules,
): Objection | null {
  const objection = current === null ? null : objectionToChange(offer, current, rules);
  return objection ?? objectionToSize(offer, rules.memory);
}

function objectionToChange(
  { snapshot, origin, isWhole }: SnapshotOffer,
  current: { readonly snapshot: Snapshot; readonly origin: Origin },
  { maxRouteLoss, hasStream }: GuardRules,
): Objection | null {
  const order = compareVersions(snapshot.version, current.snapshot.version);
  if (origin === "stream") {
    if (order === "older" || order === "mixed") return objection("older", older(order));
    if (isWhole && isEmpty(snapshot) && !isEmpty(current.snapshot)) {
      return objection("empty", EMPTY);
    }
  } else if (order === "older" || (order === "mixed" && hasStream)) {
    return objection("older", older(order), current.origin === "stream");
  } else if (order === "same" && current.origin === "stream") {
    return objection("older", older(order), true);
  } else if (order === "other-epoch" && hasStream) {
    return objection("older", OTHER_EPOCH);
  }
  const lost = current.snapshot.routes.length - snapshot.routes.length;
  if (maxRouteLoss === 0 || lost * 100 <= current.snapshot.routes.length * maxRouteLoss) {
    return null;
  }
  return objection("loss", {
    path: "$.routes",
    message:
      `${lost} of ${current.snapshot.routes.length} routes would be removed at once, more than ` +
      `${maxRouteLoss} % (--max-route-loss)`,
    remedy: "if that is intended, restart the proxy, or remove them in several steps",
    severity: "error",
  });
}

/** Compiled, it would end the process, and each one that starts with it. */
function objectionToSize(
  { snapshot, change = null }: SnapshotOffer,
  memory: ProxyMemory | null,
): Objection | null {
  if (memory === null) return null;
  if (change !== null) weighChange(snapshot, change);
  const needed = snapshotMemory(snapshot, memory.workers);
  const budget = snapshotBudget(memory, ACCEPTED_SHARE);
  if (needed <= budget) return null;
  const { routes, certificates } = snapshot;
  return objection("invalid", {
    path: "$",
    message: `its ${routes.length} routes and ${certificates.length} certificates need about ` +
      `${showMebibytes(needed)} with --workers ${memory.workers}, more than the ` +
      `${showMebibytes(budget)} that --memory-limit leaves for them`,
    remedy: "raise --memory-limit, and the container's limit with it, or use fewer --workers",
    severity: "error",
  });
}

function showMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 / 1024)} MiB`;
}

function objection(code: RefusalCode, problem: ConfigProblem, isLate = false): Objection {
  return { problem, code, isLate };
}

/** Without a route or a default action, nothing is served. */
export function isEmpty({ routes, defaultAction }: Snapshot): boolean {
  return routes.length === 0 && defaultAction === null;
}

function older(order: VersionOrder): ConfigProblem {
  const seen = {
    mixed: "of some kinds it has seen less of the cluster than the active configuration",
    same: "it has seen as much of the cluster as the active configuration",
  }[order as string] ?? "it has seen less of the cluster";
  return {
    path: "$.version.seen",
    message: order === "older" ? `it is older than the active configuration: ${seen}` : seen,
    remedy:
      "write a newer one; to go back on purpose, give it the version of the active one, or restart the proxy",
    severity: "error",
  };
}

const EMPTY: ConfigProblem = {
  path: "$.hosts",
  message: "it has no route and no default action, and the active configuration has",
  remedy:
    "check why the controller has no routes; if that is intended, the configuration files say so too",
  severity: "error",
};

const OTHER_EPOCH: ConfigProblem = {
  path: "$.version.epoch",
  message: "it is of another cluster than the active configuration",
  remedy: "restart the proxy; only the controller's stream may change to another cluster",
  severity: "error",
};
