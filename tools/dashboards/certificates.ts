/** The dashboard of certificates. In: nothing. Out: its panels: which expire when, and which are invalid. */
import { aggregate, matches, rate, series, sum } from "../promql.ts";
import type { DashboardSpec } from "./dashboard.ts";
import { graph, stat, table, WINDOW } from "./panels.ts";
import { orZero } from "./traffic.ts";

const CHOSEN = { certificate: matches("$certificate") };
/** As the proxy with the oldest one has it: during a renewal they differ. */
const DAYS_LEFT = aggregate(
  "min",
  series("pingress_certificate_days_left", CHOSEN),
  ["certificate", "hosts"],
);

/** How many have fewer days left. */
function below(days: number): string {
  return orZero(aggregate("count", `${DAYS_LEFT} < ${days}`));
}

export const CERTIFICATES: DashboardSpec = {
  name: "certificates",
  title: "Certificates",
  description: "When certificates in use expire, and which are invalid.",
  variables: [{
    name: "certificate",
    label: "Certificate",
    of: "certificate",
    series: series("pingress_certificate_days_left"),
  }],
  rows: [{
    title: "Now",
    panels: [
      stat({
        title: "Certificates",
        description: "Different ones that proxies use.",
        unit: "short",
        expression: aggregate("count", DAYS_LEFT),
      }),
      stat({
        title: "Fewest days left",
        description: "Of the certificate that expires next.",
        unit: "d",
        expression: aggregate("min", DAYS_LEFT),
        levels: { orange: 14, red: 3, lower: true },
      }),
      stat({
        title: "Expire in 14 days",
        description: "cert-manager renews after two thirds of the lifetime: these are late.",
        unit: "short",
        expression: below(14),
        levels: { orange: 1, red: 10 },
      }),
      stat({
        title: "Expire in 3 days",
        description: "Renew them now.",
        unit: "short",
        expression: below(3),
        levels: { red: 1 },
      }),
      stat({
        title: "Expired",
        description: "Clients reject them.",
        unit: "short",
        expression: below(0),
        levels: { red: 1 },
      }),
      stat({
        title: "Invalid",
        description: "Of the active snapshot. The last good one may still be in use.",
        unit: "short",
        expression: aggregate("max", series("pingress_certificates_refused")),
        levels: { red: 1 },
      }),
    ],
  }, {
    title: "Certificates",
    panels: [
      table({
        title: "Days left",
        description: "An asterisk in front of the hosts is the default certificate.",
        expression: DAYS_LEFT,
        column: {
          name: "Days left",
          unit: "d",
          isAscending: true,
          levels: { orange: 14, red: 3, lower: true },
        },
      }),
      graph({
        title: "Days left over time",
        description: "The ten that expire next. A renewal is a step up.",
        unit: "d",
        queries: [{ expression: `bottomk(10, ${DAYS_LEFT})`, legend: "{{certificate}}" }],
      }),
      graph({
        title: "Failed TLS handshakes",
        description: "Per second. Clients that do not trust a certificate are among them.",
        unit: "short",
        queries: [{
          expression: sum(rate(series("pingress_tls_handshake_errors_total"), WINDOW)),
          legend: "handshakes",
        }],
      }),
    ],
  }],
};
