/** All that `pingress status` shows comes of this. In: nothing. Out: its type. */
import type { KubeObject } from "../../controller/kube/types.ts";
import type { Reading } from "../cluster/readings.ts";
import type { Unread } from "../cluster/unread.ts";
import type { KnownCertificate } from "../installation/certificates.ts";
import type { ControllerPages, Installation } from "../installation/installation.ts";
import type { ClassObject } from "../installation/ingress_class.ts";

export interface StatusFacts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly objects: StatusObjects;
  readonly installation: Installation;
  readonly pages: ControllerPages;
  readonly certificates: Reading<readonly KnownCertificate[]>;
  /** Events of Ingresses, where the controller's own problems cannot be read; else null. */
  readonly events: Reading<readonly KubeObject[]> | null;
  /** That is shown and does not exist, with the one that was meant; null where it does, and for all. */
  readonly missingNamespace: MissingNamespace | null;
  /** Watches that do not go on at present: what is shown of these kinds may be old. */
  readonly stale: readonly Unread[];
}

export interface MissingNamespace {
  readonly name: string;
  readonly meant: string | null;
}

/** Of the namespaces that are shown, but for classes. */
export interface StatusObjects {
  readonly ingresses: Reading<readonly KubeObject[]>;
  readonly ingressClasses: Reading<readonly ClassObject[]>;
  readonly services: Reading<readonly KubeObject[]>;
  readonly endpointSlices: Reading<readonly KubeObject[]>;
  /** None where the cluster has no Gateway API. */
  readonly gatewayClasses: Reading<readonly KubeObject[]>;
  readonly gateways: Reading<readonly KubeObject[]>;
  readonly httpRoutes: Reading<readonly KubeObject[]>;
}
