/**
 * Installs Pingress. In: the command line, an overlay, the user's kubectl. Out: what would be done,
 * the installation, how it comes up, and what to try; or what is in the way, before anything is
 * changed where that can be known.
 *
 *     plan ─▶ dry run by the API server ─▶ apply ─▶ wait, with progress ─▶ what to try
 */
import { GATEWAY_CLASSES, GATEWAYS, type KubeObject } from "../controller/kube/types.ts";
import { formatDuration, parseOptions } from "../shared/options.ts";
import { shellLine } from "./command.ts";
import { CrdInstallation } from "./crd_installation.ts";
import { DEPLOY_OPTIONS, DEPLOY_PROGRAM } from "./deployment_options.ts";
import { curlLine, ownGateways, ownIngresses, proxyAddress } from "./first_request.ts";
import {
  ADMISSION_KIND,
  CONTROLLER,
  describeObject,
  GATEWAY_CLASS_API,
  GATEWAY_CLASS_KIND,
  GATEWAY_OVERLAY,
  GATEWAY_POLICIES,
  GATEWAY_ROLE,
  imageName,
  NAMESPACE,
  OLD_GATEWAY_CONFIG,
  outsideOfNamespace,
  PROXY,
  withGatewayAdmission,
  withImages,
} from "./installation.ts";
import { Kubectl, listText, parseObjects, Refusal } from "./kubectl.ts";
import { type ContainerTrouble, lastErrorLine, PodTroubles, troubleLine } from "./pod_troubles.ts";
import { rolloutState } from "./rollout.ts";

/** Between looks at the cluster, in ms. */
const LOOK_AGAIN = 1000;

/** Values of the label app.kubernetes.io/name. */
const WORKLOADS: readonly string[] = [CONTROLLER, PROXY];

/** A web server with an Ingress. */
const SAMPLE = "manifests/sample/sample.yaml";
/** A Gateway, and a route to the same web server. */
const GATEWAY_SAMPLE = "manifests/sample/gateway.yaml";

const parsed = parseOptions(DEPLOY_PROGRAM, DEPLOY_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const { backend, context, kubeconfig } = options;
const isGateway = options.gateway || options.gatewayCrds !== undefined;
const kubectl = new Kubectl({ context, kubeconfig });

try {
  await deploy();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  Deno.exit(1);
}

async function deploy(): Promise<void> {
  const cluster = await kubectl.cluster();
  const overlay = await kubectl.build(`overlays/${backend.toLowerCase()}`);
  const admission = await kubectl.admissionObjects();
  if (isGateway && admission === null) {
    throw new Refusal(
      "Gateway API needs ValidatingAdmissionPolicy (Kubernetes 1.30), which bounds the Services that " +
        "the controller writes, and this API server has none. Nothing was changed.",
    );
  }
  const crds = options.gatewayCrds === undefined
    ? null
    : await CrdInstallation.plan(kubectl, options.gatewayCrds);
  const hasClasses = await kubectl.serves(GATEWAY_CLASS_API, GATEWAY_CLASS_KIND);
  if (isGateway && crds === null && !hasClasses) {
    throw new Refusal(
      "The API server has no CRDs of Gateway API (v1), which --gateway needs. Nothing was changed.\n" +
        "Apply them too: --gateway-crds, or --gateway-crds=FILE without access to github.com.",
    );
  }
  const standard = withImages([...overlay, ...admission ?? []], options);
  const objects = isGateway ? [...standard, ...await gatewayObjects()] : standard;
  const isThere =
    await kubectl.text(["get", "namespace", NAMESPACE, "--ignore-not-found", "--output=name"]) !==
      "";
  console.log(`Cluster: ${cluster}`);
  console.log(`Images:  ${imageName(options, CONTROLLER)}`);
  console.log(`         ${imageName(options, PROXY)}`);
  console.log(
    `Proxies: ${
      backend === "HostPort"
        ? "on each node, on its ports 80 and 443"
        : "behind a Service of type LoadBalancer"
    }`,
  );
  if (crds !== null) console.log(`CRDs:    ${crds.summary}`);
  console.log("");
  if (!isGateway && await kubectl.has("clusterrole", GATEWAY_ROLE)) {
    console.log(
      "Gateway API was deployed here. overlays/gateway stays as it is; add --gateway to apply that of " +
        "this version.\n",
    );
  }
  if (admission === null) {
    console.log(
      "The API server has no ValidatingAdmissionPolicy (Kubernetes 1.30), so nothing but RBAC bounds " +
        "what the controller's account writes, and pods of any namespace may name PriorityClass " +
        "pingress-proxy.\n",
    );
  }
  const triedCrds = await crds?.tryOut() ?? [];
  if (options.dryRun && triedCrds.length > 0) console.log(triedCrds.join("\n"));
  // The API server knows the class of Gateways when it has the CRDs.
  const isKnown = ({ kind }: KubeObject) => hasClasses || kind !== GATEWAY_CLASS_KIND;
  await tryOut(objects.filter(isKnown), isThere);
  if (options.dryRun) {
    for (const object of objects.filter((object) => !isKnown(object))) {
      console.log(`${describeObject(object)}: would be created, with its CRD`);
    }
    console.log("\nThe API server accepts everything. Nothing was changed.");
    return;
  }
  for (const line of await crds?.apply() ?? []) console.log(line);
  const applied = await kubectl.answer(["apply", "--filename=-"], listText(objects));
  if (applied.code !== 0) {
    const done = applied.stdout.trim();
    throw new Refusal(
      `Not all of it could be applied:\n\n${applied.stderr.trim()}\n` +
        (done === "" ? "" : `\nThis was:\n${done}\n`) + `\nRemove it: ${taskLine("undeploy")}`,
    );
  }
  // Warnings of the API server.
  if (applied.stderr !== "") console.error(applied.stderr.trim());
  const lines = applied.stdout.trim().split("\n");
  const changed = lines.filter((line) => !line.endsWith(" unchanged"));
  console.log(changed.length === 0 ? "Everything was there already." : changed.join("\n"));
  console.log("");
  const ingresses = ownIngresses(await kubectl.list("ingresses", "--all-namespaces"));
  const isAnythingServed = ingresses.length > 0 || await hasGateways();
  if (!await waitForRollout(isAnythingServed)) Deno.exit(1);
  await showWhatToTry(ingresses, isAnythingServed);
}

/** Whether there is a Gateway of ours, and the controller may serve it. */
async function hasGateways(): Promise<boolean> {
  if (!isGateway && !await kubectl.has("clusterrole", GATEWAY_ROLE)) return false;
  const [gateways, classes] = await Promise.all([
    kubectl.list(`${GATEWAYS.plural}.${GATEWAYS.group}`, "--all-namespaces"),
    kubectl.list(`${GATEWAY_CLASSES.plural}.${GATEWAY_CLASSES.group}`),
  ]);
  return ownGateways(gateways, classes).length > 0;
}

/** What serving Gateways needs, with the classes and ports that an earlier deployment was given. */
async function gatewayObjects(): Promise<KubeObject[]> {
  const wanted = [
    ["configmap", OLD_GATEWAY_CONFIG, `--namespace=${NAMESPACE}`],
    ...GATEWAY_POLICIES.map((name) => [ADMISSION_KIND, name]),
  ];
  const standing: KubeObject[] = [];
  for (const object of wanted) {
    const text = await kubectl.text(["get", ...object, "--ignore-not-found", "--output=json"]);
    if (text !== "") standing.push(JSON.parse(text));
  }
  return withGatewayAdmission(await kubectl.build(GATEWAY_OVERLAY), standing);
}

/** Has the API server check everything; says what would be done where that was asked for. */
async function tryOut(objects: readonly KubeObject[], isThere: boolean): Promise<void> {
  const tried = isThere ? objects : outsideOfNamespace(objects);
  const answer = await kubectl.answer(
    ["apply", "--dry-run=server", "--validate=strict", "--filename=-"],
    listText(tried),
  );
  if (answer.code !== 0) {
    throw new Refusal(
      `The API server would not take it, so nothing was changed:\n\n${answer.stderr.trim()}`,
    );
  }
  if (!options.dryRun) return;
  const lines = answer.stdout.trim().split("\n");
  objects.forEach((object, index) => {
    const [, verb = "applied"] = lines[index]?.match(/ (\w+) \(server dry run\)$/) ?? [];
    console.log(`${describeObject(object)}: would be ${verb}`);
  });
}

/** False where the time ran out. */
async function waitForRollout(proxies: boolean): Promise<boolean> {
  const deadline = performance.now() + options.timeout;
  const wanted = { backend, proxies, proxyImage: imageName(options, PROXY) };
  const podTroubles = new PodTroubles();
  let shown: readonly string[] = [];
  let troubleLines: readonly string[] = [];
  while (true) {
    const objects = await kubectl.list(
      "deployments,daemonsets,pods",
      `--namespace=${NAMESPACE}`,
    );
    const state = rolloutState(objects, wanted);
    const before = shown;
    for (const line of state.lines) if (!before.includes(line)) console.log(line);
    shown = state.lines;
    if (state.isDone) return true;
    const now = performance.now();
    const pods = objects.filter(({ kind, metadata: { labels } }) =>
      kind === "Pod" && WORKLOADS.includes(labels?.["app.kubernetes.io/name"] ?? "")
    );
    const troublesBefore = troubleLines;
    troubleLines = await Promise.all(podTroubles.look(pods, now).map(describeTrouble));
    const news = troubleLines.filter((line) => !troublesBefore.includes(line));
    if (news.length > 0 && now <= deadline) {
      const left = formatDuration(Math.ceil((deadline - now) / 1000) * 1000);
      console.log([...news, `Still waiting, for up to ${left} more.`].join("\n"));
    }
    if (now > deadline) {
      console.error(
        [
          `\nNot everything runs after ${formatDuration(options.timeout)}. What is missing:`,
          ...state.lines,
          ...troubleLines,
          `\nMore tell: ${commandLine(["describe", "pods", "-n", NAMESPACE])}`,
          `and:       ${commandLine(["logs", "-n", NAMESPACE, `deployment/${CONTROLLER}`])}`,
          `Remove it: ${taskLine("undeploy")}`,
        ].join("\n"),
      );
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
  }
}

/** One line, with the last error of the log: of the run before, where that has ended. */
async function describeTrouble(trouble: ContainerTrouble): Promise<string> {
  const { pod, container, restarts, lastWords } = trouble;
  if (lastWords !== "") return troubleLine(trouble, lastWords);
  const args = ["logs", pod, `--container=${container}`, `--namespace=${NAMESPACE}`, "--tail=50"];
  // Without a log, such as of a container that was never made, the state says what there is.
  const { code, stdout } = await kubectl.answer(restarts > 0 ? [...args, "--previous"] : args);
  return troubleLine(trouble, code === 0 ? lastErrorLine(stdout) : "");
}

async function showWhatToTry(
  ingresses: ReturnType<typeof ownIngresses>,
  isAnythingServed: boolean,
): Promise<void> {
  const address = await findAddress();
  const [ingress] = ingresses.length > 0
    ? ingresses
    : ownIngresses(parseObjects(Deno.readTextFileSync(SAMPLE)));
  console.log("\nPingress runs.");
  if (ingresses.length === 0) {
    console.log(
      isAnythingServed
        ? "There is no Ingress of class pingress. To have one:"
        : "Proxies start with the first Ingress or Gateway of class pingress. To have an Ingress:",
    );
    console.log(`           ${commandLine(["apply", "-f", SAMPLE])}`);
  }
  console.log(`Try it:    ${curlLine(ingress, address ?? "ADDRESS")}`);
  if (address === null) {
    const what = backend === "HostPort" ? "nodes -o wide" : `service -n ${NAMESPACE} ${PROXY}`;
    console.log(
      `           with the ADDRESS that ${commandLine(["get", ...what.split(" ")])} shows`,
    );
  }
  if (isGateway) {
    console.log("For Gateway API, to have a Gateway and a route:");
    console.log(`           ${commandLine(["apply", "-f", SAMPLE, "-f", GATEWAY_SAMPLE])}`);
  }
  console.log(`Remove it: ${taskLine("undeploy")}`);
}

/** Null where there is none yet, or whoever installs may not see it. */
async function findAddress(): Promise<string | null> {
  try {
    const places = backend === "HostPort"
      ? await kubectl.list("nodes")
      : await kubectl.list("services", `--namespace=${NAMESPACE}`);
    return proxyAddress(backend, places);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** kubectl on the same cluster. */
function commandLine(args: readonly string[]): string {
  return shellLine("kubectl", [...clusterFlags(), ...args]);
}

function taskLine(task: string): string {
  return shellLine("deno", ["task", task, ...clusterFlags()]);
}

function clusterFlags(): string[] {
  return [
    ...(context === undefined ? [] : [`--context=${context}`]),
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
  ];
}
