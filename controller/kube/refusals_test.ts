import { deepEqual, equal } from "node:assert/strict";
import { createLogger } from "../../shared/log.ts";
import { RefusalLog } from "./refusals.ts";

const USER = 'User "system:serviceaccount:pingress-system:pingress-controller-user"';

function logged() {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    level: "info",
    format: "json",
    write: (line) => void lines.push(JSON.parse(line)),
  });
  return { lines, log };
}

Deno.test("a missing permission is logged as the RBAC rule that grants it, once in ten minutes", () => {
  const { lines, log } = logged();
  let now = 0;
  const refusals = new RefusalLog(log, () => now);
  const message = `ingresses.networking.k8s.io "web" is forbidden: ${USER} cannot patch resource ` +
    '"ingresses/status" in API group "networking.k8s.io" in the namespace "shop"';
  refusals.refused(message);
  refusals.refused(message.replace('"web"', '"other"'));
  deepEqual(lines.map(({ level, missing, role }) => ({ level, missing, role })), [{
    level: "error",
    missing: "apiGroups [networking.k8s.io], resources [ingresses/status], verbs [patch]",
    role: "Role in namespace shop",
  }]);
  now = 600_000;
  refusals.refused(message);
  equal(lines.length, 2);
});

Deno.test("resources of the core group and of the cluster's scope are named in the RBAC rule", () => {
  const { lines, log } = logged();
  new RefusalLog(log).refused(
    `nodes is forbidden: ${USER} cannot watch resource "nodes" in API group "" at the cluster scope`,
  );
  equal(lines[0].missing, 'apiGroups [""], resources [nodes], verbs [watch]');
  equal(lines[0].role, "ClusterRole");
});

Deno.test("rejections by quota and admission are not missing permissions", () => {
  const { lines, log } = logged();
  const refusals = new RefusalLog(log);
  refusals.refused('pods "a" is forbidden: exceeded quota: small, requested: pods=1');
  refusals.refused('admission webhook "a.example.com" denied the request: no');
  deepEqual(lines, []);
});
