/**
 * What ingress-nginx does where no annotation says otherwise. In: what the annotations of one Ingress
 * say, and the ConfigMap. Out: the same, with its defaults for the rest.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/configmap/
 */
import type { FilterSpec } from "../../../../shared/snapshot/types.ts";
import { type GlobalSettings, NO_GLOBALS } from "../../model/global_settings.ts";
import type { PolicySpec } from "../../model/route_settings.ts";

/** proxy-read-timeout, which nginx also has for tunnels. */
const READ_TIMEOUT = 60_000;

const DEFAULTS = {
  timeouts: {
    connect: 5_000,
    send: 60_000,
    responseHead: READ_TIMEOUT,
    responseBody: READ_TIMEOUT,
    tunnelIdle: READ_TIMEOUT,
  },
  tries: 3,
  retry: { on: ["error", "timeout"] },
  bodyLimit: 1024 * 1024,
} as const satisfies PolicySpec;

/** server-tokens: "false" */
const SERVER_TOKENS: FilterSpec = { kind: "response-headers", remove: ["server"] };

/** Headers of requests and responses: the same for all Ingresses, behind all other filters. */
const FILTERS: readonly FilterSpec[] = [
  { kind: "nginx-forwarded-headers" },
  SERVER_TOKENS,
  { kind: "hsts", maxAge: 31_536_000, includeSubDomains: true },
];

export function withDefaultFilters(
  filters: readonly FilterSpec[],
  globals: Pick<GlobalSettings, "blockedClients"> = NO_GLOBALS,
): readonly FilterSpec[] {
  return [...globalFilters(globals), ...filters, ...FILTERS];
}

/** Of routes of the profile that only redirect to another host, which have no HSTS there either. */
export function redirectFilters(
  globals: Pick<GlobalSettings, "blockedClients">,
): readonly FilterSpec[] {
  return [...globalFilters(globals), SERVER_TOKENS];
}

function globalFilters(
  { blockedClients }: Pick<GlobalSettings, "blockedClients">,
): readonly FilterSpec[] {
  return blockedClients === null ? [] : [{ kind: "blocked-clients" }];
}

/** Each setting by itself: an Ingress that sets one timeout has the defaults of the others. */
export function withDefaults(policy: PolicySpec): PolicySpec {
  return {
    ...DEFAULTS,
    ...policy,
    timeouts: { ...DEFAULTS.timeouts, ...policy.timeouts },
    retry: { ...DEFAULTS.retry, ...policy.retry },
  };
}
