/**
 * What the admin port of `deno task dev` serves besides the health of the process. In: what is served, and
 * what counts it. Out: handlers by path: a list of what there is, the metrics of the proxy, the CA's
 * certificate for anyone, and explanations of URLs for this machine alone.
 */
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { metricsHandler } from "../../proxy/process/admin_handlers.ts";
import type { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { translate } from "../../controller/translate/translator.ts";
import { parseConfigMapName } from "../../controller/cli/option_values.ts";
import { type AdminHandler, loopbackOnly } from "../../shared/admin/server.ts";
import { textResponse } from "../../shared/admin/response.ts";
import { parseExplainQuery } from "../../shared/path/requested_url.ts";
import { VERSION } from "../../shared/version.ts";
import { explanationText } from "../../cli/explain/explanation_text.ts";
import { styleOf } from "../../cli/terminal/style.ts";
import { explainUrl } from "../explain/explanation.ts";
import { withAssumedObjects } from "../gateway/assumed_objects.ts";
import type { DevOptions } from "../options.ts";
import { toTranslateOptions } from "../plan.ts";
import { AUTHORITY_PATH } from "../report.ts";
import type { Served } from "../serving.ts";
import { escapeHtml, htmlPage, wantsHtml } from "./html.ts";

export interface AdminPagesOptions {
  readonly options: DevOptions;
  readonly hub: TelemetryHub;
  /** In PEM. */
  readonly authority: string;
  readonly served: () => Served;
}

/** Of a window, as nobody knows its width. */
const COLUMNS = 100;
const PLAIN = styleOf(false);

/** Every path, and what is there. */
const PATHS: Readonly<Record<string, string>> = {
  "/explain?url=http://app.example.com/path": "which route matches a URL, and why",
  "/metrics": "metrics of the traffic, as a proxy in a cluster has them",
  [AUTHORITY_PATH]: "the certificate of the CA that signs generated certificates",
  "/healthz": "whether the process runs",
  "/readyz": "whether it serves",
};

export function adminPages(
  { options, hub, authority, served }: AdminPagesOptions,
): Record<string, AdminHandler> {
  return {
    "/": index,
    "/explain": loopbackOnly((request) => explain(request, served(), options)),
    "/metrics": metricsHandler({ hub, version: VERSION, limits: DEFAULT_LIMITS }),
    [AUTHORITY_PATH]: () =>
      new Response(authority, { headers: { "content-type": "application/x-x509-ca-cert" } }),
  };
}

function index({ headers }: Request): Response {
  const entries = Object.entries(PATHS);
  if (!wantsHtml(headers.get("accept"))) {
    const width = Math.max(...entries.map(([path]) => path.length));
    const lines = entries.map(([path, about]) => `${path.padEnd(width)}  ${about}`);
    return textResponse(200, lines.join("\n"));
  }
  const rows = entries.map(([path, about]) =>
    `<tr><th><a href="${escapeHtml(path)}">${escapeHtml(path)}</a></th><td>${
      escapeHtml(about)
    }</td></tr>`
  );
  return new Response(htmlPage("deno task dev", `<table>\n${rows.join("\n")}\n</table>`), {
    headers: { "content-type": "text/html; charset=utf-8" },
  });
}

/** Why `?url=` takes its route, as `deno task explain` says it. */
function explain(request: Request, served: Served, options: DevOptions): Response {
  const { searchParams } = new URL(request.url);
  const requested = parseExplainQuery(searchParams);
  if (typeof requested === "string") return textResponse(400, requested);
  const gateway = searchParams.get("gateway");
  if (gateway !== null && parseConfigMapName(gateway) === null) {
    return textResponse(400, "Write &gateway=default/web");
  }
  const { manifests, written } = served;
  const resources = withAssumedObjects(manifests.resources);
  const cluster = translate(resources, null, toTranslateOptions(options.plan), Date.now);
  const explanation = explainUrl({
    ...requested,
    manifests,
    plan: written,
    clusterSnapshot: cluster.snapshot,
    pathOptions: options.pathOptions,
    sslRedirect: options.sslRedirect,
    gateway,
    isInDev: true,
    now: Date.now(),
  });
  const text = explanationText(explanation, { columns: COLUMNS, style: PLAIN, showsAll: true });
  return textResponse(200, text);
}
