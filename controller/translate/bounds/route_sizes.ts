/**
 * Text of the routes of Ingresses beside their hosts and paths. In: host, path and action of each route. Out: what that
 * adds to what a route is taken for anyway; the same for what is asked for as for what was published. Pure.
 */

/** Characters of an id of an upstream, or of a reason, that every route and upstream takes for granted. */
const USUAL_ACTION = 24;

/**
 * Characters from which compression does not find the path in the id of a route when it comes again in its match: gzip
 * looks back 32 KiB. Measured: 32,000 are found, 32,600 are not.
 */
const FAR = 31_500;

/** Compressed and in memory, a route with its path and names; within so many characters the same name is found again. */
const [ROUTE, NEAR] = [300, 8 * 1024];

/** Of all routes of an Ingress, or of a namespace. */
export interface RouteTexts {
  readonly routes: number;
  /** Characters of ids of upstreams, and of reasons, beyond the usual ones. */
  readonly actions: number;
  /** Of paths, which stand twice, those that compression cannot leave out the second time. */
  readonly far: number;
}

export class RouteTally {
  routes = 0;
  actions = 0;
  far = 0;

  /** @param action Characters of its upstream's id, or of its reason. */
  add(host: string, path: string, action: number): void {
    this.routes++;
    this.actions += Math.max(0, action - USUAL_ACTION);
    if (host.length + path.length > FAR) this.far += path.length;
  }

  addAll({ routes, actions, far }: RouteTexts): void {
    this.routes += routes;
    this.actions += actions;
    this.far += far;
  }

  /** @param upstreams Ids, each once. */
  sizes(upstreams: Iterable<string>): { readonly text: number; readonly random: number } {
    let different = 0;
    for (const { length } of upstreams) different += Math.max(0, length - USUAL_ACTION);
    const { routes, actions, far } = this;
    return {
      text: actions + different,
      // In routes, and once more in the list of upstreams.
      random: far + different + Math.min(actions, different * (1 + routes * ROUTE / NEAR)),
    };
  }
}
