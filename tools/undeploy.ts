/**
 * Removes Pingress. In: the command line, the user's kubectl, and a yes. Out: a cluster with nothing
 * of ours: neither objects, nor addresses in the status of Ingresses, nor a finalizer on them or on
 * GatewayClasses of others. CRDs of Gateway API stay.
 *
 * The controller goes first, so that it puts nothing back, then the Services of Gateways, whose endpoints
 * nobody keeps true any more, then the proxies: a namespace that still
 * has pods is looked at again only after half of their time to end, which is minutes. The namespace
 * goes last, since from its end on nobody can tell what an interrupted removal has left.
 */
import { GATEWAY_CLASSES, type KubeObject } from "../controller/kube/types.ts";
import { asObject, fieldOf } from "../controller/base/json.ts";
import { ownerOf } from "../controller/outputs/addresses/names.ts";
import { MANAGED_BY_LABEL, OWNER_LABELS } from "../controller/outputs/workload/names.ts";
import { readGatewayClasses } from "../controller/translate/gateway/objects/gateway_class.ts";
import { formatDuration, parseOptions } from "../shared/options.ts";
import { UNDEPLOY_OPTIONS, UNDEPLOY_PROGRAM } from "./deployment_options.ts";
import {
  CONTROLLER,
  deletedByName,
  describeObject,
  GATEWAY_OVERLAY,
  NAMESPACE,
  PROXY,
} from "./installation.ts";
import { complaintOf, Kubectl, NOT_FOUND, Refusal } from "./kubectl.ts";
import { classTraces, ingressTraces, type Trace } from "./traces.ts";

/** Names of what `manifests/namespaced/` has in namespaces that are served. */
const RIGHTS = ["pingress-controller-role", "pingress-controller-role-binding"];

/** Between looks at the cluster, in ms. */
const LOOK_AGAIN = 500;

const parsed = parseOptions(UNDEPLOY_PROGRAM, UNDEPLOY_OPTIONS, Deno.args);
if (parsed.kind !== "ok") {
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
const { options } = parsed;
const kubectl = new Kubectl(options);

try {
  await undeploy();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  Deno.exit(1);
}

async function undeploy(): Promise<void> {
  const cluster = await kubectl.cluster();
  const classes = await kubectl.list(`${GATEWAY_CLASSES.plural}.${GATEWAY_CLASSES.group}`);
  const found = await findObjects(classes);
  const addresses = await findGatewayAddresses();
  const traces = [
    ...ingressTraces(
      await kubectl.list("ingresses", "--all-namespaces", "--show-managed-fields"),
    ),
    ...classTraces(classes),
  ];
  console.log(`Cluster: ${cluster}`);
  if (found.length + addresses.length + traces.length === 0) {
    console.log("There is nothing of Pingress in it.");
    return;
  }
  console.log("This would be deleted:");
  for (const object of [...addresses, ...found]) {
    const all = object.kind === "Namespace" ? ", with all that is in it" : "";
    console.log(`  ${describeObject(object)}${all}`);
  }
  for (const { title, namespace, name, what } of traces) {
    if (found.some(({ kind, metadata }) => kind === title && metadata.name === name)) continue;
    const of = `${title} ${namespace === null ? "" : `${namespace}/`}${name}`;
    console.log(`  ${what} of ${of}, which itself stays`);
  }
  if (options.dryRun) return;
  if (!options.yes && !confirm("Delete it?")) {
    throw new Refusal("Nothing was deleted. Without a terminal, confirm with --yes.");
  }
  const deadline = performance.now() + options.timeout;
  await remove("deployment", CONTROLLER, deadline, ["--namespace", NAMESPACE]);
  await podsGone(CONTROLLER, deadline);
  for (const object of addresses) await removeObject(object, deadline);
  for (const kind of ["daemonset", "deployment"]) {
    await remove(kind, PROXY, deadline, ["--namespace", NAMESPACE]);
  }
  await podsGone(PROXY, deadline);
  for (const trace of traces) await takeOff(trace);
  for (const object of found) await removeObject(object, deadline);
  console.log("\nNothing of Pingress is left.");
}

/** Waits until no pod of that name is left. */
async function podsGone(name: string, deadline: number): Promise<void> {
  const selector = `--selector=app.kubernetes.io/name=${name}`;
  while (true) {
    const [pod] = await kubectl.list("pods", `--namespace=${NAMESPACE}`, selector);
    if (pod === undefined) return;
    if (performance.now() > deadline) {
      throw new Refusal(
        `Pod ${pod.metadata.name} is still there after ${formatDuration(options.timeout)}; ` +
          "what is left to delete waits for it. Try again when it is gone",
      );
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
  }
}

/** What has to be deleted, in this order. @param classes Those of the cluster. */
async function findObjects(classes: readonly KubeObject[]): Promise<KubeObject[]> {
  const ownClasses = readGatewayClasses(classes);
  const wanted = deletedByName([
    ...await kubectl.build("overlays/hostport"),
    ...await kubectl.build(GATEWAY_OVERLAY),
    ...await kubectl.admissionObjects() ?? [],
  ]);
  const rights = (await kubectl.list("roles,rolebindings", "--all-namespaces"))
    .filter(({ metadata: { name, namespace } }) =>
      namespace !== NAMESPACE && RIGHTS.includes(name)
    );
  const there: KubeObject[] = [];
  for (const object of wanted) {
    const { kind = "", metadata: { name } } = object;
    // Another controller may have a class of the same name.
    if (kind === GATEWAY_CLASSES.kind && !ownClasses.has(name)) continue;
    if (await kubectl.has(kind, name)) there.push(object);
  }
  return [...rights, ...there];
}

/** Services of Gateways, and then their EndpointSlices: Kubernetes deletes neither while Gateways stay. */
async function findGatewayAddresses(): Promise<KubeObject[]> {
  const selector = `--selector=${MANAGED_BY_LABEL}=${OWNER_LABELS[MANAGED_BY_LABEL]}`;
  const objects = await kubectl.list("services,endpointslices", "--all-namespaces", selector);
  return objects.filter((object) => ownerOf(object) !== null);
}

async function removeObject(object: KubeObject, deadline: number): Promise<void> {
  const { kind = "", metadata: { name, namespace } } = object;
  await remove(kind, name, deadline, namespace === undefined ? [] : ["--namespace", namespace]);
}

/** Deletes one object and waits until it is gone. Throws a Refusal that says what holds it. */
async function remove(
  kind: string,
  name: string,
  deadline: number,
  flags: readonly string[],
): Promise<void> {
  const seconds = Math.max(1, Math.ceil((deadline - performance.now()) / 1000));
  const { code, stdout, stderr } = await kubectl.answer([
    "delete",
    kind,
    name,
    "--ignore-not-found",
    `--timeout=${seconds}s`,
    ...flags,
  ]);
  if (stdout.trim() !== "") console.log(stdout.trim());
  if (code === 0) return;
  const reason = /timed out/.test(stderr) ? await whatHolds(kind, name, flags) : stderr.trim();
  throw new Refusal(`${kind} ${name} could not be deleted: ${reason}`);
}

async function whatHolds(kind: string, name: string, flags: readonly string[]): Promise<string> {
  const waited = `it is still there after ${formatDuration(options.timeout)}`;
  const answer = await kubectl.answer(["get", kind, name, "--output=json", ...flags]);
  if (answer.code !== 0) return waited;
  const object = JSON.parse(answer.stdout);
  const conditions: unknown = fieldOf(asObject(fieldOf(object, "status")), "conditions");
  const said = (Array.isArray(conditions) ? conditions : [])
    .filter((condition) => fieldOf(condition, "status") === "True")
    .map((condition) => fieldOf(condition, "message"));
  const finalizers = [
    ...(object.metadata?.finalizers ?? []),
    ...(object.spec?.finalizers ?? []),
  ];
  return [
    waited,
    ...(finalizers.length === 0 ? [] : [`it has the finalizers ${finalizers.join(", ")}`]),
    ...said,
  ].join("; ");
}

async function takeOff({ kind, namespace, name, patches }: Trace): Promise<void> {
  const object = `${kind} "${name}"${namespace === null ? "" : ` in ${namespace}`}`;
  for (const { subresource, patch } of patches) {
    const { code, stderr } = await kubectl.answer([
      "patch",
      kind,
      name,
      ...(namespace === null ? [] : [`--namespace=${namespace}`]),
      "--type=merge",
      `--patch=${JSON.stringify(patch)}`,
      ...(subresource === null ? [] : [`--subresource=${subresource}`]),
    ]);
    if (code === 0) continue;
    // Somebody has deleted it, or its namespace, since it was listed.
    if (NOT_FOUND.test(stderr)) {
      console.log(`${object} is gone`);
      return;
    }
    throw new Refusal(`${object} could not be cleared: ${complaintOf(stderr)}`);
  }
  console.log(`${object} cleared`);
}
