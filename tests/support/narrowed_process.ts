/**
 * `proxy/main.ts` with `rights_probe.ts` in place of the supervisor and of workers. In: the proxy's
 * command line; what to dial, as JSON, on standard input. Out: a line of JSON with what each thread
 * could do. To be run with the command and permissions of `deno task proxy`.
 */
import { dirname } from "node:path";
import { parseProxyOptions } from "../../proxy/cli/options.ts";
import {
  nameServersOf,
  supervisorRights,
  WORKER_RIGHTS,
  workerRights,
} from "../../proxy/cli/permissions.ts";
import { limitIoEvents } from "../../proxy/process/io_turns.ts";
import { dropRights, type Rights } from "../../shared/rights.ts";
import type { ProbeFindings, ProbeOrders } from "./rights_probe.ts";

const parsed = parseProxyOptions(Deno.args);
if (parsed.kind !== "ok") throw new Error(parsed.text);
const { options } = parsed;
const dial = JSON.parse(await new Response(Deno.stdin.readable).text());
const orders: ProbeOrders = { folder: dirname(options.config), dial };
const file = new URL("./rights_probe.ts", import.meta.url);
const code = `data:application/typescript,${encodeURIComponent(await Deno.readTextFile(file))}`;

// A supervisor starts workers in place of others from its own thread: this one has a door for that.
const RELAY = `
  self.onmessage = ({ data: { code, rights, orders } }) => {
    const worker = new Worker(code, { type: "module", deno: { permissions: rights } });
    worker.onmessage = ({ data }) => self.postMessage(data);
    worker.postMessage(orders);
  };`;

limitIoEvents(Deno.env);
dropRights(["env"]);
const rights = supervisorRights(options, nameServersOf());
const supervisor = start(code, rights);
const worker = start(code, workerRights(rights));
const relay = start(`data:application/javascript,${encodeURIComponent(RELAY)}`, rights);
dropRights(["read", "net"]);
const findings = {
  supervisor: await ask(supervisor, orders),
  worker: await ask(worker, orders),
  replacement: await ask(relay, { code, rights: WORKER_RIGHTS, orders }),
  // This thread itself: what it can still hand on is what it can still do.
  first: await ask(start(code, WORKER_RIGHTS), orders),
};
console.log(JSON.stringify(findings));
Deno.exit(0);

function start(module: string, permissions: Rights): Worker {
  return new Worker(module, { type: "module", deno: { permissions } });
}

function ask(worker: Worker, message: unknown): Promise<ProbeFindings> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(message);
  });
}
