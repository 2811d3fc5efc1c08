/** What is said of credentials that an API server does not accept. */
import assert from "node:assert/strict";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { INGRESSES } from "../../controller/kube/types.ts";
import { refusedCredentials } from "./refused_credentials.ts";
import { unreadOf } from "./unread.ts";

const DAY = 86_400_000;
const ERROR = { code: 401, reason: "Unauthorized", message: "Unauthorized", retryAfter: null };

Deno.test("of credentials that are refused it is said which, and what helps", async () => {
  const authority = await CertificateAuthority.create("Pingress tests");
  const now = Date.now();
  const certificate = (from: number, to: number) =>
    authority.issue({ names: ["jane"], validFrom: now + from, validTo: now + to }).chain;
  const ended = certificate(-2 * DAY, -DAY);
  const valid = certificate(-DAY, DAY);
  const shown = (pem: string | null, program: string | null, code = 401) => {
    const credentials = { user: "jane@dev", clientCertificate: pem, program };
    const error = refusedCredentials({ ...ERROR, code }, credentials, now);
    const call = { verb: "list", resource: INGRESSES, namespace: null, timeout: 1000 };
    const { message, remedy } = unreadOf({ ...call, error });
    return `${message}; ${remedy}`;
  };
  for (
    const [text, wanted] of [
      [
        shown(ended, null),
        /client certificate CN=jane of user "jane@dev" has ended at 20.*; Renew the certificate/,
      ],
      [shown(ended, "aws"), /certificate CN=jane of user "jane@dev" has ended at 20/],
      [shown(certificate(DAY, 2 * DAY), null), /is not valid before 20/],
      [shown(valid, null), /does not accept the credentials of the kubeconfig; Renew the token/],
      [
        shown("garbled", null),
        /does not accept the credentials of the kubeconfig; Renew the token/,
      ],
      [shown(null, null), /does not accept the credentials of the kubeconfig; Renew the token/],
      [shown(null, "aws"), /that the program aws of user "jane@dev" gives; Log in again/],
      [shown(ended, null, 403), /: Unauthorized; Allow the verb list/],
    ] as const
  ) assert.match(text, wanted);
});
