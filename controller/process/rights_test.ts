/** The Roles in `manifests/`, and what docs/install.md says of them, against what the controller calls. */
import { deepEqual, equal } from "node:assert/strict";
import { join } from "node:path";
import { type Grant, grantsOf, readRules } from "../../tests/cluster/support/rbac.ts";
import { MANIFESTS } from "../../tests/cluster/support/kubectl.ts";
import { apiVersionOf } from "../kube/types.ts";
import { KINDS, type Needs } from "../watch/kinds.ts";
import { type Right, rightsFor } from "./rights.ts";

const SYSTEM = "pingress-system";

interface Installation {
  readonly file: string;
  readonly needs: Needs;
  /** The namespace of the Role for what is served; null for a ClusterRole. */
  readonly served: string | null;
}

const INSTALLATIONS: readonly Installation[] = [
  {
    file: "hostport.yaml",
    needs: { allNamespaces: true, nodeAddresses: true, configMap: null, gateway: false },
    served: null,
  },
  {
    file: "namespaced/rights.yaml",
    needs: { allNamespaces: false, nodeAddresses: false, configMap: null, gateway: false },
    served: "default",
  },
];

/** One grant for each name, so that rules can be cut and put together in any way. */
function single(grants: readonly Grant[]): Grant[] {
  return grants.flatMap((grant) =>
    grant.names === null ? [grant] : grant.names.map((name) => ({ ...grant, names: [name] }))
  );
}

const SCOPES = { cluster: null, system: SYSTEM } as const;

/** @param configMap The namespace of --configmap. */
function grantsFor(
  rights: readonly Right[],
  served: string | null,
  configMap: string | null = null,
): Grant[] {
  const namespaces = { ...SCOPES, served, configmap: configMap };
  const grants = rights.flatMap(({ scope, resource, subresource, names, verbs }) =>
    verbs.map((verb): Grant => ({
      namespace: namespaces[scope],
      group: resource.group,
      resource: subresource === undefined ? resource.plural : `${resource.plural}/${subresource}`,
      names: names ?? null,
      verb,
    }))
  );
  return single(grants);
}

/** Without what another of them gives too, be it in the whole cluster or for any name. */
function distinct(grants: readonly Grant[]): string[] {
  const covers = (wide: Grant, grant: Grant) =>
    wide.group === grant.group && wide.resource === grant.resource && wide.verb === grant.verb &&
    (wide.namespace === null || wide.namespace === grant.namespace) &&
    (wide.names === null || wide.names[0] === grant.names?.[0]);
  const kept = grants.filter((grant) =>
    !grants.some((wide) => covers(wide, grant) && !covers(grant, wide))
  );
  return [...new Set(kept.map(textOf))].sort();
}

function textOf({ namespace, group, resource, names, verb }: Grant): string {
  return [verb, `${group || "core"}/${resource}`, ...names ?? [], `in ${namespace ?? "all"}`]
    .join(" ");
}

for (const { file, needs, served } of INSTALLATIONS) {
  Deno.test(`the Roles of ${file} grant what the controller calls, and nothing else`, async () => {
    const granted = single(grantsOf(await readRules(file))).map(textOf).sort();
    deepEqual(granted, distinct(grantsFor(rightsFor(needs), served)));
  });
}

/** The cells of a table below a heading of docs/install.md: resources, names, verbs. */
async function documented(heading: string, namespace: string | null): Promise<Grant[]> {
  const text = await Deno.readTextFile(join(MANIFESTS, "..", "docs", "install.md"));
  const section = text.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const rows = Array.from(section.matchAll(/^\| (`.*) \|$/gm), ([, row]) => row.split(" | "));
  const groups = new Map(
    rightsFor({ allNamespaces: true, nodeAddresses: true, configMap: null, gateway: false })
      .map(({ resource }) => [resource.plural, resource.group]),
  );
  return rows.flatMap(([resources, ...cells]) => {
    // What is in the whole cluster has no column for names, but `only` where it is limited to one.
    const [first, ...others] = quoted(resources);
    const isLimited = resources.includes(" only");
    const [names, verbs] = namespace === null ? [[], cells[0]] : [namesIn(cells[0]), cells[1]];
    const limits = isLimited ? others : names;
    return (isLimited ? [first] : [first, ...others]).flatMap((resource) =>
      verbs.trim().split(", ").map((verb): Grant => ({
        namespace,
        group: groups.get(resource.split("/")[0]) ?? "not known",
        resource,
        names: limits.length === 0 ? null : limits,
        verb,
      }))
    );
  });
}

function quoted(text: string): string[] {
  return Array.from(text.matchAll(/`([^`]+)`/g), ([, word]) => word);
}

/** Names, each of which may be followed by "`-1` to `-7`". */
function namesIn(cell: string): string[] {
  return Array.from(
    cell.matchAll(/`([^`]+)`(?:, `-1` to `-(\d+)`)?/g),
    ([, name, last]) => [
      name,
      ...Array.from({ length: Number(last ?? 0) }, (_, i) => `${name}-${i + 1}`),
    ],
  ).flat();
}

Deno.test("the Role of overlays/configmap grants what --configmap adds, and nothing else", async () => {
  const configMap = { namespace: "ingress-nginx", name: "ingress-nginx-controller" };
  const needs = { allNamespaces: true, nodeAddresses: true, gateway: false };
  const without = distinct(grantsFor(rightsFor({ ...needs, configMap: null }), null));
  const added = distinct(grantsFor(rightsFor({ ...needs, configMap }), null, configMap.namespace))
    .filter((grant) => !without.includes(grant));
  const granted = single(grantsOf(await readRules("../overlays/configmap/role.yaml"))).map(textOf);
  deepEqual(granted.sort(), added);
});

Deno.test("the ClusterRole of overlays/gateway grants what --gateway adds, and nothing else", async () => {
  const needs = { allNamespaces: true, nodeAddresses: true, configMap: null };
  const without = distinct(grantsFor(rightsFor({ ...needs, gateway: false }), null));
  const added = distinct(grantsFor(rightsFor({ ...needs, gateway: true }), null))
    .filter((grant) => !without.includes(grant));
  const granted = single(grantsOf(await readRules("../overlays/gateway/cluster-role.yaml")));
  deepEqual(granted.map(textOf).sort(), added);
});

Deno.test("docs/install.md lists the permissions of hostport.yaml", async () => {
  const listed = [
    ...await documented("Cluster-wide", null),
    ...await documented("In pingress-system", SYSTEM),
  ];
  deepEqual(
    single(listed).map(textOf).sort(),
    single(grantsOf(await readRules("hostport.yaml"))).map(textOf).sort(),
  );
});

Deno.test("a kind without namespaces is watched in the whole cluster", () => {
  for (const { resource, scope } of Object.values(KINDS)) {
    const name = `${resource.kind} in ${apiVersionOf(resource)}`;
    equal(resource.namespaced, scope !== "cluster", name);
  }
});
