/**
 * The slow oracle for routes of Gateway API. In: Gateways and HTTPRoutes as they are written, and a request. Out:
 * the match that takes it, which listeners a route attaches to, and why it does not; word by word as the comments
 * of `gateway.networking.k8s.io/v1` say it. Shares no code with `controller/translate`.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/
 */

export interface ModelListener {
  readonly name: string;
  readonly port: number;
  readonly protocol: "HTTP";
  readonly hostname?: string;
  readonly allowedRoutes?: {
    readonly namespaces: {
      readonly from: "All" | "Same" | "Selector" | "None";
      readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
    };
  };
}

interface Metadata {
  readonly namespace: string;
  readonly name: string;
  readonly creationTimestamp: string;
}

export interface ModelGateway {
  readonly metadata: Metadata;
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners: readonly ModelListener[];
  };
}

interface ValueMatch {
  readonly name: string;
  readonly value: string;
}

export interface ModelMatch {
  readonly path?: { readonly type?: "Exact" | "PathPrefix"; readonly value?: string };
  readonly method?: string;
  readonly headers?: readonly ValueMatch[];
  readonly queryParams?: readonly ValueMatch[];
}

export interface ModelParentRef {
  readonly name: string;
  readonly namespace?: string;
  readonly sectionName?: string;
  readonly port?: number;
}

export interface ModelRoute {
  readonly metadata: Metadata;
  readonly spec: {
    readonly parentRefs: readonly ModelParentRef[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly { readonly matches?: readonly ModelMatch[] }[];
  };
}

export interface ModelRequest {
  readonly gateway: ModelGateway;
  readonly port: number;
  readonly host: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export interface ModelCluster {
  readonly gateways: readonly ModelGateway[];
  readonly routes: readonly ModelRoute[];
  /** Labels of namespaces. */
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** `shop/web spec.rules[0].matches[1]`; null for 404. */
export function modelMatch(cluster: ModelCluster, request: ModelRequest): string | null {
  const { gateway, port, host } = request;
  const [listener] = gateway.spec.listeners
    .filter((each) => each.port === port && hostTakes(each.hostname, host))
    .filter((each) => !isConflicted(gateway, each))
    .sort((a, b) => compareKeys(hostRank(b.hostname), hostRank(a.hostname)));
  if (listener === undefined) return null;
  const candidates = cluster.routes.flatMap((route) => {
    const isAttached = route.spec.parentRefs.some((parent) =>
      attachedListeners(cluster, route, parent).includes(listener)
    );
    if (!isAttached) return [];
    const ranks = (route.spec.hostnames ?? [undefined])
      .flatMap((hostname) => narrower(listener.hostname, hostname))
      .filter((hostname) => hostTakes(hostname, host))
      .map(hostRank);
    return ranks.flatMap((rank) =>
      (route.spec.rules ?? [{}]).flatMap(({ matches }, rule) =>
        (matches ?? [{}]).map((match, place) => ({ route, rank, rule, match, place }))
      )
    );
  }).filter(({ match }) => isTaken(match, request));
  candidates.sort((a, b) =>
    compareKeys(b.rank, a.rank) ||
    compareKeys(precedenceOf(b.match), precedenceOf(a.match)) ||
    Date.parse(a.route.metadata.creationTimestamp) -
      Date.parse(b.route.metadata.creationTimestamp) ||
    (nameOf(a.route) < nameOf(b.route) ? -1 : nameOf(a.route) > nameOf(b.route) ? 1 : 0) ||
    a.rule - b.rule || a.place - b.place
  );
  const [first] = candidates;
  return first === undefined
    ? null
    : `${nameOf(first.route)} spec.rules[${first.rule}].matches[${first.place}]`;
}

/** Why a route is not accepted by a parent; `Accepted` where it is. */
export function modelReason(
  cluster: ModelCluster,
  route: ModelRoute,
  parent: ModelParentRef,
): string {
  if (namedListeners(cluster, route, parent).length === 0) return "NoMatchingParent";
  if (openListeners(cluster, route, parent).length === 0) return "NotAllowedByListeners";
  if (attachedListeners(cluster, route, parent).length === 0) return "NoMatchingListenerHostname";
  return "Accepted";
}

/** Routes that are accepted on a listener. */
export function modelCount(cluster: ModelCluster, listener: ModelListener): number {
  return cluster.routes.filter((route) =>
    route.spec.parentRefs.some((parent) =>
      attachedListeners(cluster, route, parent).includes(listener)
    )
  ).length;
}

function namedListeners(
  { gateways }: ModelCluster,
  { metadata }: ModelRoute,
  { name, namespace = metadata.namespace, sectionName, port }: ModelParentRef,
): readonly ModelListener[] {
  const gateway = gateways.find((each) =>
    each.metadata.namespace === namespace && each.metadata.name === name
  );
  return (gateway?.spec.listeners ?? []).filter((listener) =>
    (sectionName === undefined || listener.name === sectionName) &&
    (port === undefined || listener.port === port)
  );
}

function openListeners(
  cluster: ModelCluster,
  route: ModelRoute,
  parent: ModelParentRef,
): readonly ModelListener[] {
  const { namespace } = route.metadata;
  const ofGateway = parent.namespace ?? namespace;
  return namedListeners(cluster, route, parent).filter(({ allowedRoutes }) => {
    const { from, selector } = allowedRoutes?.namespaces ?? { from: "Same" };
    if (from === "All") return true;
    if (from === "Same") return namespace === ofGateway;
    if (from === "None") return false;
    const labels = cluster.namespaces[namespace];
    return Object.entries(selector!.matchLabels).every(([name, value]) => labels[name] === value);
  });
}

function attachedListeners(
  cluster: ModelCluster,
  route: ModelRoute,
  parent: ModelParentRef,
): readonly ModelListener[] {
  return openListeners(cluster, route, parent).filter(({ hostname }) =>
    (route.spec.hostnames ?? [undefined]).some((own) => narrower(hostname, own).length > 0)
  );
}

/** All listeners of a port with one hostname lose: neither of them is the first. */
function isConflicted({ spec: { listeners } }: ModelGateway, one: ModelListener): boolean {
  return listeners.some((other) =>
    other !== one && other.port === one.port && other.hostname === one.hostname
  );
}

function nameOf({ metadata: { namespace, name } }: ModelRoute): string {
  return `${namespace}/${name}`;
}

/** A star stands for one label or more. */
function hostTakes(hostname: string | undefined, host: string): boolean {
  if (hostname === undefined) return true;
  return hostname.startsWith("*.") ? host.endsWith(hostname.slice(1)) : host === hostname;
}

/** The hosts of both, as one hostname; empty for none. */
function narrower(a: string | undefined, b: string | undefined): (string | undefined)[] {
  if (a === undefined) return [b];
  if (b === undefined || a === b) return [a];
  if (hostTakes(a, b)) return [b];
  return hostTakes(b, a) ? [a] : [];
}

/** Characters of a name, then of a pattern. */
function hostRank(hostname: string | undefined): readonly number[] {
  const isPattern = hostname?.startsWith("*.") ?? true;
  return [isPattern ? 0 : hostname!.length, hostname?.length ?? 0];
}

function precedenceOf({ path = {}, method, headers, queryParams }: ModelMatch): readonly number[] {
  const { type = "PathPrefix", value = "/" } = path;
  return [
    type === "Exact" ? 1 : 0,
    // A slash at the end is ignored.
    type === "Exact" ? 0 : elementsOf(value).join("/").length,
    method === undefined ? 0 : 1,
    distinct(headers, (name) => name.toLowerCase()).size,
    distinct(queryParams, (name) => name).size,
  ];
}

/** Of equivalent names the first counts. */
function distinct(
  list: readonly ValueMatch[] | undefined,
  form: (name: string) => string,
): ReadonlyMap<string, string> {
  const pairs = (list ?? []).map(({ name, value }) => [form(name), value] as const);
  return new Map(pairs.reverse());
}

function isTaken(
  { path = {}, method, headers, queryParams }: ModelMatch,
  request: ModelRequest,
): boolean {
  const { type = "PathPrefix", value = "/" } = path;
  const isPath = type === "Exact"
    ? request.path === value
    : elementsOf(value).every((element, i) => elementsOf(request.path)[i] === element);
  return isPath && (method === undefined || method === request.method) &&
    [...distinct(headers, (name) => name.toLowerCase())]
      .every(([name, wanted]) => request.headers[name] === wanted) &&
    [...distinct(queryParams, (name) => name)]
      .every(([name, wanted]) => request.query[name] === wanted);
}

function elementsOf(path: string): string[] {
  const elements = path.split("/").slice(1);
  return elements.at(-1) === "" ? elements.slice(0, -1) : elements;
}

/** Of two lists of numbers the first that differ count. */
function compareKeys(a: readonly number[], b: readonly number[]): number {
  return a.map((one, i) => one - b[i]).find((difference) => difference !== 0) ?? 0;
}
