/**
 * Events of a namespace that the controller has written. In: a cluster and a namespace. Out: those of
 * our reporting component: the API server itself has one for a Service whose address it repairs as it
 * starts.
 */
import { REPORTING_COMPONENT } from "../../../controller/outputs/events/record.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";

/** What every Event has. */
interface Reported extends KubeObject {
  readonly reportingComponent?: string;
}

export async function ownEvents<E extends KubeObject>(
  cluster: TestCluster,
  namespace: string,
): Promise<E[]> {
  const events = await cluster.list<E & Reported>("v1", "Event", { namespace });
  return events.filter(({ reportingComponent }) => reportingComponent === REPORTING_COMPONENT);
}
