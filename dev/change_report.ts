/**
 * What `deno task dev` shows of a saved change. In: what is served otherwise, and how long that took. Out: a
 * line for each route that changed, and how many problems there are now; null where nothing changed.
 */
import {
  isUnchanged,
  type RouteAspect,
  type RouteChange,
  type ServedChanges,
  servedChanges,
  type SettingChange,
  type SettingKind,
} from "../cli/diff/route_changes.ts";
import { formatObject } from "../shared/problem.ts";
import type { Origin, Route } from "../shared/snapshot/types.ts";
import { shareTexts } from "./gateway/backend_shares.ts";
import { matchText } from "./gateway/gateway_report.ts";
import type { Manifests } from "./manifests/manifests.ts";
import { formatProblems, gatewaySections, type Listeners } from "./report.ts";
import { type Served, stateOf } from "./serving.ts";
import { count, shortened } from "./terminal_text.ts";

/** Lines that are shown; the rest is counted. */
const MAX_SHOWN = 10;

/** The whole of a reason stands among the problems. */
const MAX_REASON = 60;

/**
 * Everything that is shown after a change; null where nothing is served otherwise.
 *
 * @param duration From the notice of the change until requests met it, in ms.
 */
export function changeText(
  before: Served,
  after: Served,
  listeners: Listeners,
  duration: number,
): string | null {
  const state = stateOf(after);
  const changes = servedChanges(stateOf(before), state);
  const text = formatChange(changes, after.manifests, state.problems.length, duration);
  if (text === null) return null;
  const { problems: { added }, settings } = changes;
  const sections = [
    text,
    ...(added.length === 0 ? [] : [formatProblems(added, "that are new")]),
    ...(settings.some(({ kind }) => kind === "listener")
      ? gatewaySections(after.plan, { ...listeners, sockets: after.sockets })
      : []),
  ];
  return sections.join("\n\n");
}

/** @param duration From the notice of the change until requests met it, in ms. */
export function formatChange(
  changes: ServedChanges,
  manifests: Pick<Manifests, "locate">,
  problems: number,
  duration: number,
): string | null {
  if (isUnchanged(changes)) return null;
  const place = (origin: Origin) => placeText(manifests, origin);
  const lines = [
    ...changes.routes.map((change) => routeLine(change, place)),
    ...changes.certificates.map(({ kind, before, after = before }) =>
      `${SIGNS[kind]} certificate ${formatObject(after!.origin)}`
    ),
    ...changes.settings.map(settingLine),
  ];
  const applied = `applied in ${Math.round(duration)} ms · ${problemCounts(changes, problems)}`;
  if (lines.length === 0) return applied;
  if (lines.length === 1) return `${lines[0]}  ${applied}`;
  const more = lines.length - MAX_SHOWN;
  return [
    ...lines.slice(0, MAX_SHOWN),
    ...(more > 0 ? [`… and ${more} more`] : []),
    applied,
  ].join("\n");
}

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;

function routeLine(change: RouteChange, place: (origin: Origin) => string): string {
  const sign = SIGNS[change.kind];
  switch (change.kind) {
    case "removed":
      return `${sign} ${hostText(change.before)} ${pathText(change.before)}`;
    case "added": {
      const { after } = change;
      return `${sign} ${hostText(after)} ${pathText(after)} to ${targetText(after)}${
        place(after.origin)
      }`;
    }
    case "changed": {
      const { before, after, aspects } = change;
      const isMoved = aspects.includes("match");
      const words = aspects.filter((aspect) => aspect !== "match")
        .map((aspect) => aspectText(aspect, before, after));
      const route = isMoved ? moveText(before, after) : `${hostText(after)} ${pathText(after)}`;
      return `${sign} ${route}${words.length === 0 ? "" : `: ${words.join(", ")}`}${
        place(after.origin)
      }`;
    }
  }
}

/** `app.example.com /api → /v2`, with both hosts where they differ. */
function moveText(before: Route, after: Route): string {
  return before.host === after.host
    ? `${hostText(before)} ${pathText(before)} → ${pathText(after)}`
    : `${hostText(before)} ${pathText(before)} → ${hostText(after)} ${pathText(after)}`;
}

function hostText({ host }: Route): string {
  return host === "*" ? "(any host)" : host;
}

/** `/api`, with its type unless that is Prefix, and with conditions. */
function pathText({ match }: Route): string {
  return matchText(match).replace(/^Prefix /, "");
}

function targetText({ action }: Route): string {
  return action.kind === "reply"
    ? shortened(`${action.status}: ${action.reason}`, MAX_REASON)
    : shareTexts(action).join(" or ");
}

const ASPECTS: Readonly<Record<Exclude<RouteAspect, "match" | "backends">, string>> = {
  listeners: "other listeners",
  protocol: "other protocol to the backend",
  endpoints: "other endpoints",
  filters: "other filters",
  policy: "other timeouts or limits",
  redirect: "other redirect to HTTPS",
};

function aspectText(
  aspect: Exclude<RouteAspect, "match">,
  before: Route,
  after: Route,
): string {
  return aspect === "backends" ? `${targetText(before)} → ${targetText(after)}` : ASPECTS[aspect];
}

const SETTINGS: Readonly<Record<SettingKind, string>> = {
  host: "settings of host",
  listener: "listener",
  users: "users of",
  defaultBackend: "default backend",
  defaultCertificate: "default certificate",
  trustedProxies: "trusted proxies",
  deniedNetworks: "denied networks",
  blockedClients: "blocked clients",
  configMap: "ConfigMap of ingress-nginx",
};

function settingLine({ kind, name }: SettingChange): string {
  return `~ ${SETTINGS[kind]}${name === "" ? "" : ` ${name === "*" ? "(any)" : name}`}`;
}

/** ` (examples/3-app.yaml:21)`; nothing for what stands in no file. */
function placeText(manifests: Pick<Manifests, "locate">, origin: Origin): string {
  const at = manifests.locate(origin, origin.field);
  return at === null ? "" : ` (${at.file}:${at.line})`;
}

/** `2 problems (1 new, 1 mended)`. */
function problemCounts({ problems: { added, mended } }: ServedChanges, problems: number): string {
  const news = [
    ...(added.length === 0 ? [] : [`${added.length} new`]),
    ...(mended.length === 0 ? [] : [`${mended.length} mended`]),
  ];
  return `${count(problems, "problem")}${news.length === 0 ? "" : ` (${news.join(", ")})`}`;
}
