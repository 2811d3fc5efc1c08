/**
 * What the admin port shows of a controller, besides its health. In: the last reconciliation, and
 * metrics. Out: handlers by path: `/metrics` for anyone, `/problems`, `/proxies` and `/snapshot` for
 * this machine alone, as through `kubectl port-forward`.
 */
import { jsonResponse, textResponse } from "../../shared/admin/response.ts";
import { type AdminHandler, loopbackOnly } from "../../shared/admin/server.ts";
import { formatObject, type Problem } from "../../shared/problem.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import type { ControllerMetrics } from "../metrics.ts";
import type { Reconciliation } from "../reconcile/reconciler.ts";

export interface AdminHandlersOptions {
  readonly metrics: ControllerMetrics;
  /** Called before metrics are written, for those that are read and not counted. */
  readonly measure: () => void;
  readonly latest: () => Reconciliation | null;
  /** Those of objects, of the workload and of publishing. */
  readonly problems: () => readonly Problem[];
  /** JSON of those on this replica's stream. */
  readonly proxies: () => string;
}

export function adminHandlers(
  { metrics, measure, latest, problems, proxies }: AdminHandlersOptions,
): Record<string, AdminHandler> {
  return {
    "/metrics": async () => {
      measure();
      const headers = { "content-type": metrics.contentType };
      return new Response(await metrics.text(), { headers });
    },
    "/problems": loopbackOnly(() =>
      latest() === null ? notYet() : jsonResponse(showProblems(problems()))
    ),
    "/proxies": loopbackOnly(() => jsonResponse(proxies())),
    "/snapshot": loopbackOnly(() => {
      const result = latest();
      return result === null
        ? notYet()
        : jsonResponse(serialiseSnapshot(result.snapshot, { revealKeys: false }));
    }),
  };
}

/**
 * JSON, those that keep something from being served first; each on a line of its own, for grep and
 * for eyes.
 */
function showProblems(problems: readonly Problem[]): string {
  const sorted = problems.toSorted((a, b) => rank(a) - rank(b));
  const lines = sorted.map(({ object, field, reason, message, remedy, severity }) =>
    JSON.stringify({
      object: object === null ? null : formatObject(object),
      field,
      reason,
      message,
      remedy,
      severity,
    })
  );
  return lines.length === 0 ? '{"problems":[]}' : `{"problems":[\n${lines.join(",\n")}\n]}`;
}

function rank({ severity }: Problem): number {
  return severity === "error" ? 0 : 1;
}

function notYet(): Response {
  return textResponse(503, "Not every kind has been listed yet");
}
