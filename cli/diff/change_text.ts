/**
 * Changes in words. In: what is served otherwise. Out: a line for each route, certificate and setting, behind
 * `+`, `-` or `~`. Pure; control characters stay as they are written.
 */
import { matchText } from "../../dev/gateway/gateway_report.ts";
import { shareTexts } from "../../dev/gateway/backend_shares.ts";
import { shortened } from "../../dev/terminal_text.ts";
import { formatObject } from "../../shared/problem.ts";
import type { Origin, Route } from "../../shared/snapshot/types.ts";
import type {
  CertificateChange,
  RouteAspect,
  RouteChange,
  SettingChange,
  SettingKind,
} from "./route_changes.ts";

/** The whole of a reason stands among the problems. */
const MAX_REASON = 60;

export const SIGNS = { added: "+", removed: "-", changed: "~" } as const;

/** @param place ` (examples/3-app.yaml:21)`, or nothing for what stands in no file. */
export function routeLine(change: RouteChange, place: (origin: Origin) => string): string {
  const sign = SIGNS[change.kind];
  switch (change.kind) {
    case "removed":
      return `${sign} ${routeText(change.before)}`;
    case "added": {
      const { after, reply } = change;
      const target = reply === null ? ` to ${targetText(after)}` : `: ${reply}`;
      return `${sign} ${routeText(after)}${target}${place(after.origin)}`;
    }
    case "changed": {
      const { before, after, aspects } = change;
      const route = aspects.includes("match") ? moveText(before, after) : routeText(after);
      const words = aspects.filter((aspect) => aspect !== "match")
        .flatMap((aspect) => aspectText(aspect, change));
      const changed = words.length === 0 ? "" : `: ${words.join(", ")}`;
      return `${sign} ${route}${changed}${place(after.origin)}`;
    }
  }
}

/** `app.example.com /api → /v2`, with both hosts where they differ. */
function moveText(before: Route, after: Route): string {
  return before.host === after.host
    ? `${routeText(before)} → ${pathText(after)}`
    : `${routeText(before)} → ${routeText(after)}`;
}

/** `app.example.com /api`: the host, and the path with its type unless that is Prefix, and with conditions. */
export function routeText(route: Route): string {
  return `${route.host === "*" ? "(any host)" : route.host} ${pathText(route)}`;
}

function pathText({ match }: Route): string {
  return matchText(match).replace(/^Prefix /, "");
}

/** Its backends, or what it replies itself. */
export function targetText({ action }: Pick<Route, "action">): string {
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
  { before, after, filters, reply }: Extract<RouteChange, { readonly kind: "changed" }>,
): string[] {
  switch (aspect) {
    case "backends":
      return [`${targetText(before)} → ${reply ?? targetText(after)}`];
    case "filters": {
      const texts = [
        ...filters.removed.map((text) => `no longer ${text}`),
        ...filters.added.map((text) => `now ${text}`),
      ];
      // Values of headers may be secret, so another one has no text.
      return texts.length === 0 ? [ASPECTS.filters] : texts;
    }
    default:
      return [ASPECTS[aspect]];
  }
}

export function certificateLine({ kind, before, after = before }: CertificateChange): string {
  const [old, now] = [before, after].map((one) => (one?.hosts ?? []).join(", "));
  const hosts = kind !== "changed"
    ? ` for ${now}`
    : old === now
    ? `: another one for ${now}`
    : `: for ${old} → for ${now}`;
  return `${SIGNS[kind]} certificate ${formatObject(after!.origin)}${now === "" ? "" : hosts}`;
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

export function settingLine({ kind, name }: SettingChange): string {
  return `~ ${SETTINGS[kind]}${name === "" ? "" : ` ${name === "*" ? "(any)" : name}`}`;
}
