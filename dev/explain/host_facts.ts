/**
 * What is decided by the host before any route. In: the question, and what the router explains. Out: who owns
 * the host, and whether plain HTTP is redirected to HTTPS and by which setting.
 */
import { httpsLocation, isAcmeChallenge } from "../../proxy/http/https_location.ts";
import { type Explanation, redirectUrl, turnedOffBy } from "../../proxy/router/explain.ts";
import { madeFor } from "../made_certificates.ts";
import { staysPlain } from "../../shared/host/plain_hosts.ts";
import type { Plan } from "../plan.ts";
import type { Question } from "./question.ts";
import type { HttpsRedirectFacts, OwnerFacts } from "./url_explanation.ts";

/** The owner of the host; or of the wildcard that takes it where nobody owns the name itself. */
export function ownerFacts(
  { hostOwners, hostOwnership }: Pick<Plan, "hostOwners" | "hostOwnership">,
  host: string,
  isInFiles: boolean,
): OwnerFacts {
  const none = { namespace: null, pattern: null, sharers: [], guests: [] };
  if (hostOwnership === "shared") return { ...none, because: "namespaces share hosts" };
  const pattern = hostOwners.has(host) ? host : `*${host.slice(host.indexOf("."))}`;
  const found = hostOwners.get(pattern);
  if (found === undefined) return { ...none, because: "no rule names the host" };
  const { namespace, because, sharers, guests } = found;
  const claim = isInFiles
    ? "it has the oldest claim in these manifests"
    : "it has the oldest claim";
  return {
    ...{ namespace, pattern, sharers, guests },
    because: because === "assigned" ? "its Namespace says so" : claim,
  };
}

/** Null where nothing is to be said: for HTTPS, and where no certificate and no setting asks for it. */
export function httpsRedirectFacts(
  { url, plan, sslRedirect, isInDev }: Question,
  explanation: Explanation,
  isAfterRoute: boolean,
): HttpsRedirectFacts | null {
  const { host, path, redirect: setting } = explanation;
  if (url.scheme !== "http" || !path.ok) return null;
  const turnedOff = turnedOffBy(setting);
  const inDev = (redirects: boolean) => isInDev ? redirects : null;
  if (turnedOff !== null) {
    const by = "proxies";
    return { location: null, because: turnedOff, by, isInDev: inDev(false), isAfterRoute };
  }
  const location = redirectUrl(explanation, url.query, 443);
  if (location !== null && setting !== null) {
    return {
      location,
      because: setting.because,
      by: "proxies",
      isInDev: inDev(sslRedirect || (setting.isForced && !staysPlainInDev(plan, explanation))),
      isAfterRoute,
    };
  }
  // Certificates that dev generates redirect too, where that was asked for.
  if (!isInDev || !sslRedirect || madeFor(plan.snapshot, host) !== "host") return null;
  if (isAcmeChallenge(path.path)) return null;
  return {
    location: httpsLocation({ host, path: path.path, query: url.query }, 443, setting?.style),
    because: "it generates a certificate for the host",
    by: "dev",
    isInDev: true,
    isAfterRoute,
  };
}

/** Where in a cluster plain HTTP is redirected although no certificate names the host. */
function staysPlainInDev({ snapshot }: Plan, { host, outcome, certificate }: Explanation): boolean {
  if (outcome.kind !== "route") return false;
  const { by, certificate: shown } = certificate;
  const isNamed = shown !== null && by !== "default" && !staysPlain(shown, host);
  const policy = snapshot.policies?.find(({ id }) => id === outcome.route.policy);
  return !isNamed && policy?.httpsRedirect?.when === "tls";
}
