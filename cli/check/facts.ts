/** All that `pingress check` judges by. In: nothing. Out: its type; `reading.ts` reads it, groups judge it. */
import type { Crd, KubeObject } from "../../controller/kube/types.ts";
import type { ClaimsConfigMap } from "../../controller/outputs/publish/host_claims.ts";
import type { Reading } from "../cluster/readings.ts";
import type { KnownCertificate } from "../installation/certificates.ts";
import type { ControllerPages, Installation } from "../installation/installation.ts";
import type { Right } from "./right.ts";
import type { ClassObject } from "../installation/ingress_class.ts";

export interface CheckFacts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** This program's. */
  readonly ownVersion: string;
  readonly server: string;
  /** `v1.34.1`. */
  readonly kubernetes: Reading<string>;
  /** Rights of the user. */
  readonly rights: Reading<readonly CheckedRight[]>;
  /** Of the controller's account; null where there is no account to ask about. */
  readonly accountRights: Reading<readonly CheckedRight[]> | null;
  readonly installation: Installation;
  readonly pages: ControllerPages;
  /** Other namespaces with a controller of ours. */
  readonly elsewhere: readonly string[];
  readonly classes: Reading<readonly ClassObject[]>;
  /** Of all namespaces. */
  readonly ingresses: Reading<readonly KubeObject[]>;
  readonly gatewayApi: Reading<GatewayApi | null>;
  /** Everything that may have ports of nodes, of all namespaces. */
  readonly daemonSets: Reading<readonly KubeObject[]>;
  /** EndpointSlices of the Service of the cluster's DNS. */
  readonly dnsSlices: Reading<readonly KubeObject[]>;
  readonly certificates: Reading<readonly KnownCertificate[]>;
  /** The ConfigMap with the recorded claims; null where there is none. */
  readonly claims: Reading<ClaimsConfigMap | null>;
  /** Of the installation's namespace. */
  readonly networkPolicies: Reading<readonly KubeObject[]>;
}

export interface CheckedRight {
  readonly right: Right;
  readonly isAllowed: boolean;
}

/** What there is of Gateway API. */
export interface GatewayApi {
  /** Kinds of ours that the API server serves, by plural. */
  readonly served: ReadonlySet<string>;
  /** Null where they may not be read. */
  readonly crds: readonly Crd[] | null;
  readonly classes: Reading<readonly KubeObject[]>;
  readonly gateways: Reading<readonly KubeObject[]>;
  /** Services that the controller has made for Gateways. */
  readonly services: Reading<readonly KubeObject[]>;
}
