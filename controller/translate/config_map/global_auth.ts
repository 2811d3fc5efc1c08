/**
 * Problems with global authentication. In: what the ConfigMap says of it, and what it has come to. Out:
 * problems of the ConfigMap, each once, however many Ingresses have their requests authenticated so.
 */
import type { ProblemList, ProblemText, Report } from "../../base/problems.ts";
import {
  GLOBAL_FIELD,
  hostOfAuthUrl,
  reportGlobalExternal,
} from "../annotations/nginx/external.ts";
import type { ServiceBackend } from "../model/backend_ref.ts";
import type { ConfigMapName, GlobalSettings } from "../model/global_settings.ts";
import type { Source } from "../model/source.ts";

/** What else is known of backends. */
export interface ResolvedBackends {
  /** What is wrong with one that was resolved. */
  report(backend: ServiceBackend, report: () => Report): void;
}

export function reportGlobalAuth(
  { externalAuth }: Pick<GlobalSettings, "externalAuth">,
  configMap: ConfigMapName | null,
  ingresses: readonly Source[],
  backends: ResolvedBackends,
  problems: ProblemList,
): void {
  if (externalAuth === null || configMap === null) return;
  const report = problems.about({ kind: "ConfigMap", ...configMap });
  reportGlobalExternal({ externalAuth }, report);
  const host = hostOfAuthUrl(externalAuth.texts.get("auth-url")!);
  const asked = new Map<string, ServiceBackend>();
  let isNamed = false;
  for (const { authenticator, hosts } of ingresses) {
    if (authenticator?.isGlobal === true) {
      asked.set(authenticator.backend.id, authenticator.backend);
    }
    isNamed ||= host !== null && hosts.some((each) => covers(each.host, host));
  }
  for (const backend of asked.values()) backends.report(backend, () => ofKey(report));
  if (!isNamed || externalAuth.isHostAssigned) return;
  report.warning(GLOBAL_FIELD, {
    reason: "NginxConfigMap",
    message:
      `key "global-auth-url" names ${host}, which is a host of Ingresses that no Namespace ` +
      "is assigned, so proxies dial its address, and requests get 500 where that is their own",
    remedy:
      "Name the Service in place of the host, as http://NAME.NAMESPACE.svc/PATH, or assign the " +
      "host to its namespace by the annotation pingress.io/hosts of the Namespace, with " +
      "--host-ownership=namespace",
  });
}

/** Problems of the backend, as those of the key. */
function ofKey(report: Report): Report {
  const text = ({ message, remedy }: ProblemText): ProblemText => ({
    reason: "NginxConfigMap",
    message: `key "global-auth-url": ${message}`,
    remedy,
  });
  return {
    error: (field, problem) => report.error(field, text(problem)),
    warning: (field, problem) => report.warning(field, text(problem)),
  };
}

/** Whether the routes of a host, or of a wildcard, get requests for a name. */
function covers(pattern: string, name: string): boolean {
  return pattern === name ||
    (pattern.startsWith("*.") && name.slice(Math.max(name.indexOf("."), 0)) === pattern.slice(1));
}
