/**
 * The stream's authority as its Secret and its ConfigMap have it. In: their data. Out: the state and
 * the published trust, with what could not be read; and the same data made of a state. Pure.
 *
 *     signer.crt signer.key   signs now
 *     next.crt   next.key     will
 *     retired.crt             signed once, all in one file
 *     rotation.json           {"nextPublished": time | null, "retired": {id: time}}
 */
import {
  AUTHORITY_TIMES,
  type AuthorityCertificate,
  type AuthorityState,
  type AuthorityTimes,
  retire,
  type RetiredAuthority,
  type Signer,
} from "./certificate_authority.ts";
import { authoritiesIn, readSigner } from "./x509.ts";
import { asObject, fieldOf } from "../../base/json.ts";

/** Those that a state may have or not. */
const NAMES = ["signer.crt", "signer.key", "next.crt", "next.key"];

/** Of a Secret: names to base64. */
export type SecretData = Readonly<Record<string, string>>;

export interface StateReading {
  /** Null where it has no authority that can sign. */
  readonly state: AuthorityState | null;
  /** Certificates of authorities, also of those that cannot sign. */
  readonly trusted: readonly AuthorityCertificate[];
  /** What is wrong with it: clauses, without any of a key. */
  readonly complaints: readonly string[];
}

export function readState(
  data: SecretData,
  now: number,
  times: AuthorityTimes = AUTHORITY_TIMES,
): StateReading {
  const complaints: string[] = [];
  const pair = (name: "signer" | "next"): Signer | null => {
    const [cert, key] = [textOf(data, `${name}.crt`), textOf(data, `${name}.key`)];
    if (cert === "" && key === "") return null;
    const signer = readSigner(cert, key);
    if (typeof signer !== "string") return signer;
    complaints.push(`${name}: ${signer}`);
    return null;
  };
  const [signer, waiting] = [pair("signer"), pair("next")];
  // It signs already, and its old place has not been cleared.
  const next = waiting?.id === signer?.id ? null : waiting;
  const rotation = parse(textOf(data, "rotation.json"));
  const trusted = ["signer.crt", "next.crt", "retired.crt"]
    .flatMap((name) => authoritiesIn(textOf(data, name)));
  // Also one whose key is lost: it goes on being trusted for what it has signed.
  const retired = trusted.filter(({ id }) => id !== signer?.id && id !== next?.id)
    .map((one): RetiredAuthority => {
      const until = timeOf(fieldOf(fieldOf(rotation, "retired"), one.id));
      return until === null ? retire(one, now, times) : { ...one, until };
    });
  if (signer === null && next === null) {
    if (complaints.length === 0) complaints.push("it has no key that signs");
    return { state: null, trusted, complaints };
  }
  const nextPublished = next === null ? null : timeOf(fieldOf(rotation, "nextPublished"));
  return { state: { signer, next, nextPublished, retired }, trusted, complaints };
}

export function stateData({ signer, next, nextPublished, retired }: AuthorityState): SecretData {
  const rotation = {
    nextPublished: nextPublished === null ? null : new Date(nextPublished).toISOString(),
    retired: Object.fromEntries(
      retired.map(({ id, until }) => [id, new Date(until).toISOString()]),
    ),
  };
  const texts = {
    ...(signer === null
      ? {}
      : { "signer.crt": signer.certPem, "signer.key": signer.keyPem.reveal() }),
    ...(next === null ? {} : { "next.crt": next.certPem, "next.key": next.keyPem.reveal() }),
    "retired.crt": retired.map(({ certPem }) => certPem).join(""),
    "rotation.json": JSON.stringify(rotation),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, btoa(text)]));
}

/**
 * Names of ours in `data` that a state does not have: somebody else has set them too, as with kubectl,
 * so that they stay where we do not apply them any more. Names that are not ours are not here.
 */
export function obsoleteNames(data: SecretData, state: AuthorityState): readonly string[] {
  const wanted = stateData(state);
  return NAMES.filter((name) => Object.hasOwn(data, name) && !Object.hasOwn(wanted, name));
}

/** Those of a bundle; null for one with anything else in it, which a proxy might not read. */
export function readBundle(text: string): readonly AuthorityCertificate[] | null {
  const authorities = authoritiesIn(text);
  return authorities.map(({ certPem }) => certPem).join("") === text ? authorities : null;
}

function textOf(data: SecretData, name: string): string {
  try {
    return Object.hasOwn(data, name) ? atob(data[name]) : "";
  } catch {
    // The API server stores no other than base64.
    return "";
  }
}

function parse(text: string): unknown {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

/** A time of RFC 3339 in ms since the epoch. */
function timeOf(value: unknown): number | null {
  const time = typeof value === "string" ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? null : time;
}
