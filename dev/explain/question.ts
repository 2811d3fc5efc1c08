/** What is asked about a URL. In: nothing. Out: the type of everything that explains it. */
import type { PathOptions } from "../../shared/path/canonical_path.ts";
import type { RequestedUrl } from "../../shared/path/requested_url.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { Manifests } from "../manifests/manifests.ts";
import type { Plan } from "../plan.ts";

export interface Question {
  readonly url: RequestedUrl;
  readonly method: string;
  /** Lines, names in any case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The objects, and where their fields stand, if they are in files. */
  readonly manifests: Pick<Manifests, "resources" | "locate">;
  readonly plan: Plan;
  /** What a cluster would serve: the same objects with the endpoints that they name. */
  readonly clusterSnapshot: Snapshot;
  /** As the cluster's proxies have them. */
  readonly pathOptions?: PathOptions;
  /** Whether plain HTTP is redirected, as by deno task dev --ssl-redirect. */
  readonly sslRedirect: boolean;
  /** Whether the plan is that of `dev`: with sample backends and generated certificates. */
  readonly isInDev: boolean;
  /** Whether endpoints could be read; else a backend may be ready or not. Missing: yes. */
  readonly hasEndpoints?: boolean;
  /** Why certificates could not be read, a clause; null or missing where they could. */
  readonly certificatesUnread?: string | null;
  /** The Gateway that is asked about, `namespace/name`; null or missing for none in particular. */
  readonly gateway?: string | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
}
