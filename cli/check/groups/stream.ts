/**
 * The stream and the versions of its ends. In: what replicas of the controller say of their proxies, and pods.
 * Out: which proxies are behind and why, which follow their files, and which versions differ.
 */
import { isPodReady } from "../../../controller/outputs/workload/pod_status.ts";
import { proxiesOf } from "../../installation/installation.ts";
import { behindBecause, type ConnectedProxy } from "../../installation/proxies_page.ts";
import type { CheckFacts } from "../facts.ts";
import { type CheckResult, failed, ok, skipped, unchecked, warning } from "../result.ts";

export function checkStream(facts: CheckFacts): readonly CheckResult[] {
  const { pages: { replicas }, installation: { options, controllerPods } } = facts;
  if (!controllerPods.ok) return [unchecked("stream", controllerPods.unread)];
  if (replicas.length === 0) {
    const none = controllerPods.value.length === 0
      ? "there is no pod of the controller"
      : "no replica of the controller is ready";
    return [skipped("stream", `not checked: ${none}`)];
  }
  if (options?.proxyUpdates === "files") {
    return [
      skipped("stream", "proxies follow their files (--proxy-updates=files)"),
      versions(facts),
    ];
  }
  return [...connections(facts), versions(facts)];
}

function connections(
  { pages: { replicas }, installation: { proxyPods } }: CheckFacts,
): readonly CheckResult[] {
  const unread = replicas.flatMap(({ pod, proxies }) =>
    proxies.ok ? [] : [{ pod, ...proxies.unread }]
  );
  if (unread.length === replicas.length) return [unchecked("stream", unread[0])];
  const old = replicas.find(({ proxies }) => proxies.ok && proxies.value === null);
  if (old !== undefined) {
    return [warning(
      "stream",
      `replica ${old.pod} is of a version without the page /proxies, so it is not known which proxies ` +
        "are in sync",
      "Upgrade the controller: apply the manifests of this version",
    )];
  }
  const all = proxiesOf(replicas);
  const behind = all.filter(({ isInSync }) => !isInSync);
  const names = new Set(all.map(({ name }) => name));
  // Those that are missing may be connected to a replica that does not answer.
  const alone = (proxyPods.ok && unread.length === 0 ? proxyPods.value : [])
    .filter((pod) => isPodReady(pod) && !names.has(pod.metadata.name));
  return [
    ...unread.map(({ pod, message, remedy }) =>
      warning("stream", `replica ${pod} is ready and does not answer: ${message}`, remedy)
    ),
    ...behind.map((proxy) =>
      failed(
        "stream",
        `proxy ${proxy.name} is behind the controller: ${behindBecause(proxy)}`,
        remedyFor(proxy),
      )
    ),
    ...alone.map(({ metadata: { namespace, name } }) =>
      warning(
        "stream",
        `proxy ${name} has no stream, so it follows its files, a minute late`,
        `Read why: kubectl -n ${namespace} logs ${name} | grep -i stream`,
      )
    ),
    ...(behind.length + alone.length > 0 ? [] : [
      all.length === 0
        ? skipped("stream", "no proxy is connected")
        : ok("stream", `${all.length} of ${all.length} connected proxies are in sync`),
    ]),
  ];
}

function remedyFor({ name, refused, obstacles }: ConnectedProxy): string {
  if (refused?.code === "older") {
    return "Restart the proxies, if etcd was restored from a backup";
  }
  if (refused?.code === "loss" || refused?.code === "empty") {
    return "Check whether the routes are to be removed; if so, restart the proxy";
  }
  if (refused !== null) {
    return "Run proxies of the controller's version: finish the rollout, or report it as a bug";
  }
  return obstacles.length > 0
    ? "Free the ports, or change --listen-range"
    : `Read the log of pod ${name}; delete the pod if it stays behind`;
}

/** Between controllers, proxies and this program. */
function versions({ pages: { replicas }, ownVersion }: CheckFacts): CheckResult {
  const controllers = [
    ...new Set(replicas.flatMap(({ version }) => version.ok ? version.value ?? [] : [])),
  ].sort();
  if (controllers.length === 0) {
    const unread = replicas.find(({ version }) => !version.ok)?.version;
    return unread === undefined || unread.ok
      ? warning(
        "versions",
        "the controller does not say its version, so it is older than this program",
        "Upgrade the controller: apply the manifests of this version",
      )
      : unchecked("versions", unread.unread);
  }
  if (controllers.length > 1) {
    return warning(
      "versions",
      `controllers of several versions run: ${controllers.join(", ")}`,
      "Finish the rollout",
    );
  }
  const [controller] = controllers;
  const others = proxiesOf(replicas).filter(({ build }) => build !== controller);
  if (others.length > 0) {
    const [{ name, build }] = others;
    return warning(
      "versions",
      `proxies of another version than the controller (${controller}): ${others.length}, such as ` +
        `${name} (${build ?? "unknown"})`,
      "Finish the rollout, or give --proxy-server-image the image of the controller's version",
    );
  }
  return controller === ownVersion
    ? ok("versions", `controller, proxies and pingress are of version ${controller}`)
    : warning(
      "versions",
      `the controller is of version ${controller}, and this program of ${ownVersion}`,
      "Use the version of pingress that the controller has, or upgrade the controller",
    );
}
