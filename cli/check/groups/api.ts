/** The API server. In: its version. Out: whether it answers, and is new enough. */
import type { CheckFacts } from "../facts.ts";
import { type CheckResult, failed, ok } from "../result.ts";

/** https://kubernetes.io/releases/: the manifests need what 1.27 has. */
const OLDEST = [1, 27] as const;

export function checkApi({ server, kubernetes }: CheckFacts): readonly CheckResult[] {
  if (!kubernetes.ok) {
    const { message, remedy } = kubernetes.unread;
    return [failed("api-answers", message, remedy)];
  }
  const version = kubernetes.value;
  return [
    ok("api-answers", `the API server at ${server} answers and accepts the credentials`),
    isOldEnough(version) ? ok("api-version", `Kubernetes ${version}`) : failed(
      "api-version",
      `Kubernetes ${version} is older than ${OLDEST.join(".")}, which Pingress needs`,
      "Upgrade the cluster",
    ),
  ];
}

/** A version that cannot be read counts as new. */
function isOldEnough(version: string): boolean {
  const [, major, minor] = /^v(\d{1,4})\.(\d{1,4})/.exec(version) ?? [];
  if (major === undefined) return true;
  return Number(major) > OLDEST[0] ||
    (Number(major) === OLDEST[0] && Number(minor) >= OLDEST[1]);
}
