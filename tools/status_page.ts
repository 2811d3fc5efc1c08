/**
 * The page about status, Events and reasons of problems. In: the catalogue of problems, and how
 * status and Events are paced. Out: the text of `docs/status.md`.
 */
import { EVENT_PACE, EVENT_TIMING } from "../controller/outputs/events/writer.ts";
import { REASON_SECTIONS, type ReasonSection } from "../controller/problems/reasons.ts";
import { MAX_ADDRESSES } from "../controller/outputs/status/address.ts";
import { STATUS_PACE } from "../controller/outputs/status/writer.ts";
import { FINALIZER_INTERVAL, OLD_FINALIZER } from "../controller/outputs/status/finalizers.ts";

/** Where the page stands, relative to the repository. */
export const STATUS_PAGE = "docs/status.md";

/** Ingresses of a large cluster, to say what a pace means. */
const MANY = 5_000;

export function statusPage(): string {
  const { rate, burst, inFlight } = STATUS_PACE;
  const minutes = Math.ceil((MANY - burst) / rate / 60);
  return [
    "# Status and Events",
    "",
    "Made from the program itself by `deno task docs:update`; do not edit.",
    "",
    "| to see | look at |",
    "| --- | --- |",
    "| addresses of an Ingress | `kubectl get ingress` |",
    "| problems of an object | its Events, with `kubectl describe` or `kubectl events` |",
    "| all current problems | `/problems` on the controller's admin port |",
    "| the number of problems | the metric `pingress_config_problems{reason}` |",
    "| when each problem appeared and was resolved | the controller's log |",
    "",
    "A problem of one object never stops other objects from being served.",
    "",
    "## Status",
    "",
    "`status.loadBalancer.ingress` of each served Ingress contains the addresses of the proxies. The",
    "first of these sources that applies is used:",
    "",
    "1. The values of `--publish-address`.",
    "2. With `--backend LoadBalancer`, the Service: for type LoadBalancer, the addresses that the cloud",
    "   provider assigned, and `externalIPs`; for type NodePort, `externalIPs`, or its cluster addresses",
    "   if it has none; for type ClusterIP, its cluster addresses.",
    "3. With `--backend HostPort`, the nodes with a ready proxy: their addresses of type ExternalIP if",
    "   any node has one, otherwise of type InternalIP, both IPv4 and IPv6.",
    "",
    "`--publish-status-address` and `--publish-service` of ingress-nginx do the same, except that here",
    "all addresses of a node are published, not only the first.",
    "",
    `The list is sorted and has at most ${MAX_ADDRESSES} entries. While the load balancer has no address,`,
    "Ingresses get none, and an address that another controller wrote stays until there is one. If no",
    "proxy on any node is ready, the published addresses stay, since DNS records depend on them and",
    "take longer to recover than a proxy. For the same reason, the address of a node stays for a minute",
    "after its proxy is gone.",
    "",
    "- An Ingress none of whose paths reaches a backend (all rejected, closed or without endpoints) gets",
    "  no address at first, so that no DNS record sends clients to it. It keeps one that it has.",
    '- With `pingress.io/status: "off"` on its IngressClass, an Ingress is served and has Events, but its',
    "  addresses are not written: another controller that serves the class, such as ingress-nginx during a",
    "  [migration](migrate-from-ingress-nginx.md), writes them. Addresses written before stay. Once the",
    "  annotation is removed, or the Ingress changes to a class without it, they are written.",
    "- An Ingress that changes to another class loses our addresses, also if that happened while no",
    "  controller was running. Addresses written by its new controller stay.",
    "- Proxies continue without a controller, so addresses stay when the controller ends. To uninstall,",
    "  first make the controller serve no class: delete the IngressClass, and set `--ingress-class` to a",
    "  name that no Ingress has. It then removes the addresses and, after `--cleanup-delay`, the proxies.",
    "- If another controller overwrites our addresses, they are restored after 10 seconds, and each",
    "  further time after twice as long, up to 10 minutes. The log reports that two controllers serve the",
    "  Ingress.",
    `- At most ${inFlight} writes are in progress at a time, ${burst} at once after a pause, and ${rate} per second: ${
      MANY.toLocaleString("en")
    }`,
    `  Ingresses take about ${minutes} minutes when an address changes. The newest change goes first.`,
    "- Only the leader writes, and only what differs.",
    "",
    "Written by server-side apply as the field manager `pingress-controller`.",
    "",
    "## Events",
    "",
    "Each problem of an object is an Event of type Warning on it: one per object and reason, in the",
    "object's namespace, or in `default` for an IngressClass or a Namespace. It names the field, the",
    "problem, its effect and the remedy, and the number of further problems of the same reason.",
    "",
    `- A problem is reported once it has lasted for ${
      EVENT_TIMING.patience / 1_000
    } s, so that an Ingress applied just before its`,
    "  Secret causes no Event.",
    `- A problem that lasts is reported again every ${
      EVENT_TIMING.renewal / 60_000
    } minutes, since the API server deletes`,
    "  Events after an hour. A resolved problem is no longer reported.",
    `- A message that changes is written at most every ${
      EVENT_TIMING.leastInterval / 1000
    } seconds.`,
    `- At most ${EVENT_PACE.rate} Events are written per second, the newest first. Beyond ${
      EVENT_TIMING.maxRecords.toLocaleString("en")
    } problems at`,
    "  a time, the rest is shown by `/problems` only.",
    "- Problems of no object, or of an object that does not exist, have no Event, nor do problems of",
    "  Gateway API, which are [conditions](gateway-status.md) in the status.",
    "- `kubectl describe secret` shows no Events; `kubectl events --for secret/NAME` does. Problems of a",
    "  certificate are also Events of the Ingresses that use it.",
    "- The leader writes Events. Configurations that a proxy rejects are reported by the replica whose",
    "  stream the proxy is connected to.",
    "- No Event contains a key, a certificate or a value of a Secret.",
    "",
    "## Reasons",
    "",
    "Reasons of Events, of `/problems` and of the metric. With an *error*, the object is not served as",
    "written; with a *warning* it is, but needs attention. Problems of Gateway API are errors with the",
    "[reasons of their conditions](gateway-status.md#reasons).",
    "",
    ...REASON_SECTIONS.flatMap(tableOf),
    "## The finalizer of the Rust controller",
    "",
    `\`${OLD_FINALIZER}\` is removed from every Ingress of any class: that`,
    "controller adds it to all of them, and it would block their deletion. While that controller runs",
    `and restores it, it is removed at most every ${
      FINALIZER_INTERVAL / 1000
    } seconds per Ingress.`,
    "",
    "## Rights",
    "",
    "Status and Events need `patch` on `ingresses/status`, and `create` and `patch` on `events`.",
    "The finalizer is removed through `ingresses/status` too; Ingresses themselves are only read.",
    "",
  ].join("\n");
}

function tableOf({ title, reasons }: ReasonSection): string[] {
  return [
    `### ${title}`,
    "",
    "| reason | on | severity | meaning |",
    "| --- | --- | --- | --- |",
    ...reasons.map(({ reason, kinds, severities, meaning }) =>
      `| \`${reason}\` | ${kinds.join(", ") || "–"} | ${severities.join(" or ")} | ${
        sentence(meaning)
      } |`
    ),
    "",
  ];
}

function sentence(clause: string): string {
  return `${clause[0].toUpperCase()}${clause.slice(1).replaceAll("|", "\\|")}.`;
}
