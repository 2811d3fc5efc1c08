import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../controller/kube/types.ts";
import { CONTROLLER_RIGHTS, type Right, USER_GATEWAY_RIGHTS, USER_RIGHTS } from "./right.ts";
import { boundRoles, roleAllows } from "./role_rights.ts";

const ROOT = new URL("../../", import.meta.url);

async function read(file: string): Promise<readonly KubeObject[]> {
  return parseAllDocuments(await Deno.readTextFile(new URL(file, ROOT)))
    .map((document) => document.toJS() as KubeObject);
}

const isAllowed = (roles: readonly KubeObject[], right: Right) =>
  roles.some((role) =>
    // A Role is of the installation's namespace.
    (role.kind === "ClusterRole" || right.scope === "installation") && roleAllows(role, right)
  );

Deno.test("the manifests give the controller every right that check looks for", async () => {
  const objects = await read("manifests/hostport.yaml");
  const account = { namespace: "pingress-system", name: "pingress-controller-user" };
  const bound = boundRoles(objects, account).map(({ kind, name }) => `${kind} ${name}`);
  assert.equal(bound.length, 2);
  const roles = objects.filter(({ kind, metadata }) => bound.includes(`${kind} ${metadata.name}`));
  assert.deepEqual(CONTROLLER_RIGHTS.filter((right) => !isAllowed(roles, right)), []);
});

Deno.test("overlays/check gives every right that check and status use, and none on Secrets", async () => {
  const roles = [
    ...await read("overlays/check/cluster-role.yaml"),
    ...await read("overlays/check/role.yaml"),
  ];
  const rights = [...USER_RIGHTS, ...USER_GATEWAY_RIGHTS];
  assert.deepEqual(rights.filter((right) => !isAllowed(roles, right)), []);
  const secrets: Right = {
    ...{ verb: "list", group: "", resource: "secrets", scope: "all" },
    without: "",
  };
  assert.equal(isAllowed(roles, secrets), false);
});

const RIGHT: Right = { verb: "list", group: "apps", resource: "pods", scope: "all", without: "" };

const RULE = { apiGroups: ["apps"], resources: ["pods"], verbs: ["list"] };

for (
  const [name, rule, right, expected] of [
    ["the very right", RULE, RIGHT, true],
    ["all verbs", { ...RULE, verbs: ["*"] }, RIGHT, true],
    ["another verb", { ...RULE, verbs: ["watch"] }, RIGHT, false],
    ["another group", { ...RULE, apiGroups: [""] }, RIGHT, false],
    ["all groups and resources", { ...RULE, apiGroups: ["*"], resources: ["*"] }, RIGHT, true],
    ["one name of all", { ...RULE, resourceNames: ["a"] }, RIGHT, false],
    ["the name", { ...RULE, resourceNames: ["a"] }, { ...RIGHT, name: "a" }, true],
    ["all names of one", RULE, { ...RIGHT, name: "a" }, true],
    ["no subresource", RULE, { ...RIGHT, subresource: "status" }, false],
    ["the subresource of all", { ...RULE, resources: ["*/status"] }, {
      ...RIGHT,
      subresource: "status",
    }, true],
    ["a rule without verbs", { ...RULE, verbs: undefined }, RIGHT, false],
  ] as const
) {
  Deno.test(`a role with ${name} allows it: ${expected}`, () => {
    const role = { metadata: { name: "r" }, rules: [rule] } as KubeObject;
    assert.equal(roleAllows(role, right), expected);
  });
}

for (
  const [name, subject, expected] of [
    ["the account", { kind: "ServiceAccount", namespace: "a", name: "b" }, true],
    [
      "an account of another namespace",
      { kind: "ServiceAccount", namespace: "x", name: "b" },
      false,
    ],
    ["all accounts", { kind: "Group", name: "system:serviceaccounts" }, true],
    ["all accounts of the namespace", { kind: "Group", name: "system:serviceaccounts:a" }, true],
    ["its name as a user", { kind: "User", name: "system:serviceaccount:a:b" }, true],
    ["another user", { kind: "User", name: "b" }, false],
  ] as const
) {
  Deno.test(`a binding of ${name} gives the account its role: ${expected}`, () => {
    const binding = {
      metadata: { name: "x", namespace: "n" },
      subjects: [subject],
      roleRef: { kind: "ClusterRole", name: "r" },
    } as KubeObject;
    assert.deepEqual(
      boundRoles([binding], { namespace: "a", name: "b" }),
      expected ? [{ namespace: "n", kind: "ClusterRole", name: "r" }] : [],
    );
  });
}
