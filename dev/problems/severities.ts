/**
 * Severities where files are looked at, by what a client sees. In: nothing. Out: the reasons whose problems are worse
 * or less there than the controller reports them.
 */

/** Warnings of the controller for which clients get an error or refuse the connection. */
export const BROKEN: ReadonlySet<string> = new Set([
  "CertificateExpired",
  "CertificateNotYetValid",
  "CertificateWithoutNames",
  "UpstreamCaMissing",
]);

/** Warnings of the controller about what others do, or what is not done for them. */
export const NEEDLESS: ReadonlySet<string> = new Set(["HostClaimedByOthers", "RedirectSkipped"]);
