/** Every alert that Pingress comes with. In: nothing. Out: the groups, in the order of the page. */
import type { Alert, AlertGroup } from "./alert.ts";
import { CERTIFICATE_ALERTS } from "./certificates.ts";
import { CONTROLLER_ALERTS } from "./controller.ts";
import { PROXY_ALERTS } from "./proxies.ts";
import { REQUEST_ALERTS } from "./requests.ts";

export const ALERT_GROUPS: readonly AlertGroup[] = [
  REQUEST_ALERTS,
  PROXY_ALERTS,
  CERTIFICATE_ALERTS,
  CONTROLLER_ALERTS,
];

export const ALERTS: readonly Alert[] = ALERT_GROUPS.flatMap(({ alerts }) => alerts);
