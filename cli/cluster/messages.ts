/**
 * Messages between a command and the thread that talks to the API server. In: nothing. Out: their types. All
 * of them read, but for reviews, which the API server stores nowhere.
 */
import type { Selection } from "../../controller/kube/client.ts";
import type { CredentialSource } from "../../controller/kube/credential_source.ts";
import type { ApiError, ApiResult, KubeObject, Resource } from "../../controller/kube/types.ts";

export type ClusterCall =
  | {
    readonly kind: "get";
    readonly resource: Resource;
    readonly namespace: string | null;
    readonly name: string;
    readonly metadataOnly: boolean;
  }
  /** All pages. Of Secrets, only `tls.crt` of `data` leaves the thread. */
  | { readonly kind: "list"; readonly resource: Resource; readonly selection: Selection }
  /** A SelfSubjectAccessReview or SubjectAccessReview; gives its status. */
  | { readonly kind: "review"; readonly resource: Resource; readonly spec: unknown }
  /** The API server's own version; gives a `ServerVersion`. */
  | { readonly kind: "version" }
  /** An APIGroup, or the APIResourceList of one of its versions. */
  | { readonly kind: "discover"; readonly group: string; readonly version: string | null }
  /** GET of a port of a pod's loopback; gives a `PodAnswer`. */
  | { readonly kind: "pod" } & PodRequest;

export interface PodRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  /** With its query. */
  readonly path: string;
}

export interface PodAnswer {
  readonly status: number;
  readonly body: string;
}

export type ToClusterThread =
  /**
   * @param program Of that plugin.
   * @param plugin Gives a `CredentialReading` for any message; null where the kubeconfig has credentials.
   */
  | {
    readonly kind: "open";
    readonly source: CredentialSource;
    readonly program: string | null;
    readonly plugin: MessagePort | null;
  }
  /** @param deadline Milliseconds. */
  | {
    readonly kind: "call";
    readonly id: number;
    readonly deadline: number;
    readonly call: ClusterCall;
  }
  /** Follows a kind; `changed` messages carry the same id. */
  | {
    readonly kind: "follow";
    readonly id: number;
    readonly resource: Resource;
    readonly selection: Selection;
  };

export type FromClusterThread =
  | { readonly kind: "opened" }
  /** One sentence with its remedy. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "result"; readonly id: number; readonly result: ApiResult<unknown> }
  | {
    readonly kind: "changed";
    readonly id: number;
    readonly changes: readonly FollowedChange[];
    /** Whether all objects have come at least once. */
    readonly isSynced: boolean;
    /** Why the watch does not go on at present; null while it does. */
    readonly failure: ApiError | null;
  };

/** An object that came or changed, or the key of one that went. */
export type FollowedChange =
  | { readonly key: string; readonly object: KubeObject }
  | { readonly key: string; readonly object: null };
