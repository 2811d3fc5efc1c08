/**
 * What the proxy knows the controller by, and shows of itself. In: two files that the kubelet
 * replaces while the proxy runs. Out: their contents at that moment, or what is wrong with them.
 */
import { readChain } from "../../../shared/key_pair.ts";
import { Redacted, type Secret } from "../../../shared/redacted.ts";
import { MAX_TOKEN } from "../../../shared/stream/protocol.ts";
import { readConfigFile } from "../config_file.ts";
import type { LinkFailure } from "./failure.ts";
import type { CredentialFiles } from "./controller_address.ts";

export interface Credentials {
  /** PEM; at least one certificate. */
  readonly ca: string;
  readonly token: Secret;
}

/** Never rejects. */
export async function readCredentials(
  files: CredentialFiles,
): Promise<Credentials | LinkFailure> {
  const [ca, token] = await Promise.all([readAuthorities(files.ca), readToken(files.token)]);
  if (typeof ca !== "string") return ca;
  return "key" in token ? token : { ca, token };
}

/** Never rejects. */
export async function readToken(path: string): Promise<Secret | LinkFailure> {
  const text = await readText(path, "--controller-token");
  if (typeof text !== "string") return text;
  const token = text.trim();
  if (token !== "" && token.length <= MAX_TOKEN && /^[\x21-\x7e]+$/.test(token)) {
    return new Redacted(token);
  }
  const problem = token === "" ? "it is empty" : "it holds no token";
  return wrong(
    "--controller-token",
    path,
    problem,
    "mount a projected service-account token there",
  );
}

async function readAuthorities(path: string): Promise<string | LinkFailure> {
  const text = await readText(path, "--controller-ca");
  if (typeof text !== "string") return text;
  const chain = readChain(text, "it");
  if (typeof chain !== "string") return chain.pem;
  const remedy = "mount the key ca.crt of the ConfigMap pingress-stream-ca there";
  return wrong("--controller-ca", path, chain, remedy);
}

async function readText(path: string, flag: string): Promise<string | LinkFailure> {
  const reading = await readConfigFile(path);
  if (reading.ok) return reading.text;
  const remedy = reading.missing
    ? "mount it there; it is looked for again and again, and the controller may not have made it yet"
    : reading.remedy;
  return wrong(flag, path, reading.message, remedy);
}

function wrong(flag: string, path: string, problem: string, remedy: string): LinkFailure {
  return { key: `${flag} ${problem}`, message: `${flag}=${path}: ${problem}`, remedy };
}
