/**
 * The page of what the controller tells users, and where. In: the catalogue of problems, and how
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
    "# What the controller tells",
    "",
    "Made from the program itself by `deno task docs:update`; do not edit.",
    "",
    "| what | where |",
    "| --- | --- |",
    "| the addresses of an Ingress | `kubectl get ingress` |",
    "| what is wrong with an object | `kubectl describe` of it, or `kubectl events`: Events |",
    "| every problem of this moment | `/problems` on the controller's admin port |",
    "| how many there are | the metric `pingress_config_problems{reason}` |",
    "| when each came and went | the controller's log |",
    "",
    "A problem with an object never stops other objects from being served.",
    "",
    "## Status",
    "",
    "`status.loadBalancer.ingress` of each Ingress that is served has the addresses under which the",
    "proxies can be reached. The first of these that applies says which:",
    "",
    "1. `--publish-address`, as often as it is given.",
    "2. With `--backend LoadBalancer` the Service: of type LoadBalancer, what the cloud gave it and",
    "   its `externalIPs`; of type NodePort, its `externalIPs`, or else its cluster addresses; of",
    "   type ClusterIP, those.",
    "3. With `--backend HostPort` the nodes on which a proxy is ready: their addresses of type",
    "   ExternalIP, where a node has any, else of type InternalIP, of both families.",
    "",
    "That is what ingress-nginx does with `--publish-status-address`, `--publish-service` and nodes,",
    "but that a node shows all its addresses, not the first.",
    "",
    `The list is sorted and has at most ${MAX_ADDRESSES} entries. While a load balancer has no address,`,
    "Ingresses show none of ours; what another controller wrote before stays until there is one. While",
    "no proxy on any node is ready, what was there stays: DNS records are made from it, and take longer",
    "to come back than a proxy. For the same reason the address of a node stays for a minute after",
    "its proxy has gone.",
    "",
    "- An Ingress of which no path reaches a backend, since all are refused, closed or without endpoints,",
    "  gets no address at first, so that no DNS record leads clients to it; one that it has stays.",
    "- An Ingress that goes to another class loses our addresses, also when that happened while no",
    "  controller was running. What its new controller has written stays.",
    "- Proxies go on without a controller, so addresses stay when it ends. To take it out for good, let",
    "  it serve no class first: delete the IngressClass and give `--ingress-class` a name that no Ingress",
    "  has. That takes addresses away, and after `--cleanup-delay` the proxies too.",
    "- What another one writes over ours is put back, but not within 10 seconds, and each time after",
    "  twice as long, up to 10 minutes; the log says so, since two controllers serve that Ingress.",
    `- At most ${inFlight} writes are on their way at a time, ${burst} at once after a pause, and ${rate} a second: ${
      MANY.toLocaleString("en")
    }`,
    `  Ingresses take about ${minutes} minutes when an address changes. The newest change goes first.`,
    "- Only the leader writes, and only what differs.",
    "",
    "Written by server-side apply as the field manager `pingress-controller`.",
    "",
    "## Events",
    "",
    "A problem of an object is an Event of type Warning on it: one for each object and reason, in the",
    "object's namespace, or in `default` for an IngressClass or a Namespace. It says in which field,",
    "what is wrong, what follows, and what to do, and how many more of the kind there are.",
    "",
    `- One is told of once it has lasted for ${
      EVENT_TIMING.patience / 1_000
    } s: of an Ingress that is applied just`,
    "  before its Secret there is nothing to tell.",
    `- One that stays is told of again every ${
      EVENT_TIMING.renewal / 60_000
    } minutes, since the API server forgets`,
    "  Events after an hour. One that is mended is told of no more.",
    `- A message that changes is written at most every ${
      EVENT_TIMING.leastInterval / 1000
    } seconds.`,
    `- At most ${EVENT_PACE.rate} a second, the newest first; beyond ${
      EVENT_TIMING.maxRecords.toLocaleString("en")
    } at a time, the rest is in`,
    "  `/problems` alone.",
    "- What is wrong with no object, or with one that is not there, is no Event.",
    "- `kubectl describe secret` shows no Events; `kubectl events --for secret/NAME` does, and what is",
    "  wrong with a certificate is an Event of the Ingresses that use it as well.",
    "- The leader writes them, but for what a proxy refuses: of that each replica tells whose stream the",
    "  proxy is on.",
    "- No Event holds a key, a certificate or a value of a Secret.",
    "",
    "## Reasons",
    "",
    "Of Events, of `/problems` and of the metric. An *error* is not served as written; a *warning* is,",
    "but should be looked at.",
    "",
    ...REASON_SECTIONS.flatMap(tableOf),
    "## The finalizer of the Rust controller",
    "",
    `\`${OLD_FINALIZER}\` is taken off every Ingress, of whatever class: it put one on`,
    "each, and would hang their deletion. While it still runs and puts it back, that happens at most",
    `every ${FINALIZER_INTERVAL / 1000} seconds for each Ingress.`,
    "",
    "## Rights",
    "",
    "All of this takes `patch` of `ingresses/status`, and `create` and `patch` of `events`. Ingresses",
    "themselves are only read.",
    "",
  ].join("\n");
}

function tableOf({ title, reasons }: ReasonSection): string[] {
  return [
    `### ${title}`,
    "",
    "| reason | on | severity | what it means |",
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
