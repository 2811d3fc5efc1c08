/**
 * One Event that tells of a problem, as far as it is known here. In: the problem, and what the API
 * server has. Out: the objects and patches to send.
 *
 * The old form of Events, with a count: `kubectl describe` shows it in every version.
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import type { KubeObject } from "../../kube/types.ts";

export const REPORTING_COMPONENT = "pingress-controller";

/** Events about what has no namespace go here: the API server takes no other. */
const DEFAULT_NAMESPACE = "default";

export interface EventRecord {
  readonly name: string;
  readonly object: ObjectRef;
  readonly uid: string;
  readonly reason: string;
  /** What is to stand there. */
  message: string;
  /** Whether there is such a problem now. */
  isPresent: boolean;
  /** Whether it came back after it was gone, and that is not written yet. */
  hasReturned: boolean;
  /** On the monotonic clock: when the problem went. */
  goneAt: number;
  /** What stands there; null where that is not known, or nothing does. */
  written: { readonly message: string; readonly count: number; readonly at: number } | null;
}

/** An Event as the API server has it; who may patch Events may write anything there. */
export interface StoredEvent extends KubeObject {
  readonly message?: unknown;
  readonly count?: unknown;
  readonly lastTimestamp?: unknown;
}

/** What the Event is about, as it is now. */
export interface Subject {
  readonly apiVersion: string;
  readonly resourceVersion: string | undefined;
}

export function namespaceOf({ object }: EventRecord): string {
  return object.namespace === "" ? DEFAULT_NAMESPACE : object.namespace;
}

/** @param now RFC 3339. `instance`: which process reports, the pod's name. */
export function newEvent(record: EventRecord, subject: Subject, instance: string, now: string) {
  const { object: { kind, namespace, name }, uid, reason, message } = record;
  return {
    metadata: { name: record.name, namespace: namespaceOf(record) },
    involvedObject: {
      ...subject,
      kind,
      name,
      uid,
      ...(namespace === "" ? {} : { namespace }),
    },
    type: "Warning",
    reason,
    message,
    count: 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component: REPORTING_COMPONENT },
    reportingComponent: REPORTING_COMPONENT,
    reportingInstance: instance,
  };
}

/** What was seen once more. */
export function repeatedEvent(message: string, count: number, instance: string, now: string) {
  return { message, count, lastTimestamp: now, reportingInstance: instance };
}
