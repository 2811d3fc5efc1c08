/**
 * `controller/main.ts` with `rights_probe.ts` in place of the worker. In: the controller's command
 * line; what to dial, as JSON, on standard input. Out: a line of JSON with what each thread could
 * do. To be run with the command and permissions of `deno task controller`.
 */
import { basename, dirname } from "node:path";
import { type CredentialSource, reachOf } from "../../controller/kube/credential_source.ts";
import { parseControllerOptions } from "../../controller/cli/options.ts";
import { workerRights } from "../../controller/cli/permissions.ts";
import { dropRights, type Rights } from "../../shared/rights.ts";
import type { ProbeFindings, ProbeOrders } from "./rights_probe.ts";

const parsed = parseControllerOptions(Deno.args);
if (parsed.kind !== "ok") throw new Error(parsed.text);
const { kubeconfig, context, proxyPodTemplate, admin, stream } = parsed.options;
const source: CredentialSource = { kind: "kubeconfig", file: kubeconfig!, context };
const reach = reachOf(source);
if (reach === null) throw new Error(`${kubeconfig} cannot be used`);
const dial = JSON.parse(await new Response(Deno.stdin.readable).text());
const orders: ProbeOrders = { folder: dirname(kubeconfig!), file: basename(kubeconfig!), dial };
const file = new URL("./rights_probe.ts", import.meta.url);
const code = `data:application/typescript,${encodeURIComponent(await Deno.readTextFile(file))}`;

const worker = start(
  workerRights({ ...reach, podTemplate: proxyPodTemplate, admin, stream }),
);
dropRights(["read", "net", "env"]);
console.log(JSON.stringify({
  worker: await ask(worker),
  // This thread itself: what it can still hand on is what it can still do.
  first: await ask(start("inherit")),
}));
Deno.exit(0);

function start(permissions: Rights | "inherit"): Worker {
  return new Worker(code, { type: "module", deno: { permissions } });
}

function ask(worker: Worker): Promise<ProbeFindings> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(orders);
  });
}
