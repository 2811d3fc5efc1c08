/** Alerts of certificates. In: the catalogue. Out: the group. */
import type { Alert, AlertGroup } from "./alert.ts";
import { aggregate } from "../promql.ts";
import type { Scope } from "./scope.ts";
import { threshold } from "./thresholds.ts";

/** Seconds that each has left; `namespace` of a Secret becomes a label, so that alerts find its owner. */
function secondsLeft(scope: Scope): string {
  const expiration = scope.series("pingress_certificate_expiration_timestamp_seconds");
  return `label_replace(${
    aggregate("min", expiration, ["certificate", "hosts"])
  } - time(), "namespace", "$1", "certificate", "([^/]+)/[^/]+")`;
}

const CERTIFICATE = "{{ $labels.certificate }}";

const RUNBOOK: Omit<Alert["runbook"], "meaning"> = {
  impact: "Clients reject the certificate when it has expired; nobody can use its hosts then.",
  diagnosis: [
    "`kubectl -n NAMESPACE describe certificate,certificaterequest,order,challenge` shows why " +
    "cert-manager did not renew it.",
    "`pingress_certificate_days_left` is of the certificate that proxies serve. If the Secret has " +
    "a newer one, [`pingress check`](check.md) lists its problem: an invalid certificate does not " +
    "replace a good one.",
    "[`pingress explain --cluster URL`](explain.md#a-cluster) shows the certificate of a host.",
  ],
  remedy: [
    "Renew it: `cmctl renew NAME`, or write a new certificate to the Secret. Proxies serve it " +
    "within a second.",
    "If a certificate is not used any more, remove it from `spec.tls`.",
    "For certificates that live shorter than two weeks, lower the thresholds.",
  ],
};

export const CERTIFICATE_ALERTS: AlertGroup = {
  name: "certificates",
  title: "Certificates",
  alerts: [
    {
      name: "PingressCertificateExpiresSoon",
      severity: "warning",
      hold: "10m",
      expression: (scope) =>
        `(${secondsLeft(scope)} < ${threshold("certificateDays")} * 86400) >= ${
          threshold("certificateDaysCritical")
        } * 86400`,
      summary: `Certificate ${CERTIFICATE} expires soon`,
      description: `Certificate ${CERTIFICATE} of {{ $labels.hosts }} expires in ` +
        "{{ $value | humanizeDuration }}.",
      runbook: {
        meaning: "A certificate in use expires in less than `certificateDays` days. Certificates " +
          "that are renewed automatically are renewed earlier, so the renewal fails.",
        ...RUNBOOK,
      },
    },
    {
      name: "PingressCertificateNearlyExpired",
      severity: "critical",
      hold: "10m",
      expression: (scope) =>
        `${secondsLeft(scope)} < ${threshold("certificateDaysCritical")} * 86400`,
      summary: `Certificate ${CERTIFICATE} expires now`,
      description: `Certificate ${CERTIFICATE} of {{ $labels.hosts }} expires in ` +
        "{{ $value | humanizeDuration }}; a negative time means that it has expired.",
      runbook: {
        meaning:
          "A certificate in use expires in less than `certificateDaysCritical` days, or has " +
          "expired.",
        ...RUNBOOK,
      },
    },
  ],
};
