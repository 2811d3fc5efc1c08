/**
 * Programs that give credentials, as kubeconfigs name them (`exec`). In: such an entry, and what a program
 * printed. Out: how it is started, and the credential; or one sentence that says what is wrong, and what helps.
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import { asList, asObject, asText, fieldOf } from "../../controller/base/json.ts";
import type { ExecEntry } from "../../controller/kube/credential_source.ts";
import type { GivenCredential } from "../../controller/kube/credentials.ts";
import { START_WITH_PROGRAM } from "../../dev/start_command.ts";

/**
 * The programs that every command may start which reads a cluster; deno.json has the same list. Others have to
 * be allowed on the command line.
 */
export const KNOWN_PROGRAMS = [
  "aws",
  "aws-iam-authenticator",
  "doctl",
  "gke-gcloud-auth-plugin",
  "kubectl",
  "kubelogin",
  "oci",
  "pinniped",
  "tsh",
] as const;

const GROUP = "client.authentication.k8s.io";
const VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`];

const MODES = ["Never", "IfAvailable", "Always"] as const;

/** Where a cluster keeps what is for such a program alone. */
const EXTENSION = `${GROUP}/exec`;

export interface CredentialPlugin {
  /** A name that is looked up on PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** `client.authentication.k8s.io/v1` or `…/v1beta1`. */
  readonly apiVersion: string;
  readonly interactiveMode: (typeof MODES)[number];
  /** How to get the program, in the words of who wrote the kubeconfig; null for none. */
  readonly installHint: string | null;
  /** `spec.cluster` of what it is told; null where it is told nothing of the cluster. */
  readonly cluster: Readonly<Record<string, unknown>> | null;
}

export type PluginReading =
  | { readonly ok: true; readonly plugin: CredentialPlugin }
  | { readonly ok: false; readonly message: string };

export type CredentialReading =
  | { readonly ok: true; readonly credential: GivenCredential }
  | { readonly ok: false; readonly message: string };

/** @param readFile Gives the bytes of a file, here of a CA. May throw. */
export function pluginOf(
  { value, cluster }: ExecEntry,
  readFile: (path: string) => Uint8Array,
): PluginReading {
  const command = asText(fieldOf(value, "command"));
  if (command === null) return wrong("its user's exec names no command; add one");
  const apiVersion = fieldOf(value, "apiVersion");
  if (typeof apiVersion !== "string" || !VERSIONS.includes(apiVersion)) {
    return wrong(
      `the exec of its user has the apiVersion ${JSON.stringify(apiVersion ?? null)}, which is ` +
        `none of ${VERSIONS.join(", ")}; update ${command}, and write the kubeconfig anew with it`,
    );
  }
  // Only the older version has a default.
  const mode = fieldOf(value, "interactiveMode") ??
    (apiVersion === VERSIONS[0] ? null : "IfAvailable");
  const interactiveMode = MODES.find((one) => one === mode);
  if (interactiveMode === undefined) {
    return wrong(`the exec of its user needs an interactiveMode; add one of ${MODES.join(", ")}`);
  }
  const args = asList(fieldOf(value, "args") ?? []);
  const env = asList(fieldOf(value, "env") ?? []);
  if (args === null || env === null || args.some((each) => typeof each !== "string")) {
    return wrong("the args or the env of its user's exec is no list; correct it");
  }
  const variables: [string, string][] = [];
  for (const each of env) {
    const [name, text] = [asText(fieldOf(each, "name")), fieldOf(each, "value") ?? ""];
    if (name === null || typeof text !== "string") {
      return wrong("the env of its user's exec needs a name and a value for each; correct it");
    }
    variables.push([name, text]);
  }
  return {
    ok: true,
    plugin: {
      command,
      args: args as string[],
      env: Object.fromEntries(variables),
      apiVersion,
      interactiveMode,
      installHint: asText(fieldOf(value, "installHint")),
      cluster: fieldOf(value, "provideClusterInfo") === true
        ? clusterInfo(cluster, readFile)
        : null,
    },
  };
}

function clusterInfo(
  cluster: unknown,
  readFile: (path: string) => Uint8Array,
): Readonly<Record<string, unknown>> {
  const taken = [
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
  ].filter((name) => fieldOf(cluster, name) !== undefined);
  const info = Object.fromEntries(taken.map((name) => [name, fieldOf(cluster, name)]));
  const file = asText(fieldOf(cluster, "certificate-authority"));
  if (file !== null && info["certificate-authority-data"] === undefined) {
    info["certificate-authority-data"] = readFile(file).toBase64();
  }
  const config = (asList(fieldOf(cluster, "extensions")) ?? [])
    .find((each) => fieldOf(each, "name") === EXTENSION);
  return config === undefined ? info : { ...info, config: fieldOf(config, "extension") ?? null };
}

/** What the program finds in the variable KUBERNETES_EXEC_INFO. */
export function execInfo({ apiVersion, cluster }: CredentialPlugin, interactive: boolean): string {
  const spec = { ...(cluster === null ? {} : { cluster }), interactive };
  return JSON.stringify({ kind: "ExecCredential", apiVersion, spec });
}

/**
 * What the program printed. No message repeats it, as it may be a token.
 * @param now Milliseconds since the epoch.
 */
export function readExecCredential(
  text: string,
  { command, apiVersion }: CredentialPlugin,
  now: number,
): CredentialReading {
  const refuse = (what: string) =>
    wrong(
      `the program ${command} of the kubeconfig ${what}; run it by hand and look at what it prints`,
    );
  let printed: unknown;
  try {
    printed = JSON.parse(text);
  } catch {
    return refuse("printed no JSON");
  }
  if (fieldOf(printed, "kind") !== "ExecCredential") return refuse("printed no ExecCredential");
  if (fieldOf(printed, "apiVersion") !== apiVersion) {
    return refuse(`printed an ExecCredential of another apiVersion than ${apiVersion}`);
  }
  const status = asObject(fieldOf(printed, "status"));
  const [token, certificate, key] = ["token", "clientCertificateData", "clientKeyData"]
    .map((name) => asText(fieldOf(status, name)));
  if ((certificate === null) !== (key === null)) {
    return refuse("printed a client certificate without its key, or a key alone");
  }
  if (token === null && certificate === null) {
    return refuse("printed neither a token nor a client certificate");
  }
  const written = fieldOf(status, "expirationTimestamp") ?? null;
  const expiresAt = written === null ? null : Date.parse(String(written));
  if (Number.isNaN(expiresAt)) return refuse("printed an expirationTimestamp that is no time");
  if (expiresAt !== null && expiresAt <= now) {
    return wrong(
      `the program ${command} of the kubeconfig gave a credential that has ended at ${
        new Date(expiresAt).toISOString()
      }; log in again with it, and check the clock of this machine`,
    );
  }
  const pair = certificate === null || key === null ? null : { certificate, key };
  return { ok: true, credential: { token, pair, expiresAt } };
}

/** Why a program cannot be started which this process has no right to start, or which is not there. */
export function missingProgram({ command, installHint }: CredentialPlugin): string {
  const hint = installHint === null ? "" : `\n${installHint.trim()}`;
  return KNOWN_PROGRAMS.some((name) => name === command)
    ? `its user needs the program ${command}, which is not on PATH; install it${hint}`
    : `its user needs the program ${command}, which Pingress starts only where you allow it: ` +
      `${START_WITH_PROGRAM.replace("PROGRAM", command)}${hint}`;
}

function wrong(message: string): { readonly ok: false; readonly message: string } {
  return { ok: false, message };
}
