/**
 * The golden files of `translate`. In: `translate/NAME.in.yaml`, the objects of one case as ordinary
 * manifests. Out: what the translation makes of them, as the text of `NAME.out.yaml`.
 *
 * The first document of a case may be settings instead of an object: `options` (those of
 * `TranslateOptions` that differ from the defaults below), `now` (a time), and `published` (the
 * objects of which the snapshot published before was made), `claims` (those recorded to hosts, null
 * for none; the output then has those to record). `!file NAME …` stands for the text of
 * files in `certificates/`, one after the other, and `!base64 NAME …` for the same in base64;
 * `NAME*20` is a file twenty times.
 */
import { X509Certificate } from "node:crypto";
import { type Resources } from "../../controller/kube/resources.ts";
import type { HostClaims, RecordedClaim } from "../../controller/translate/hosts/host_claims.ts";
import {
  translate,
  type TranslateOptions,
  type Translation,
} from "../../controller/translate/translator.ts";
import { Document } from "yaml";
import { namesEndingIn, parseObjects, shortenSmallMaps } from "./golden_yaml.ts";
import { TRANSLATE_OPTIONS } from "../support/translate_options.ts";

const FOLDER = new URL("./translate/", import.meta.url);

export const DEFAULT_OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  version: { epoch: "golden", seen: {} },
};
const DEFAULT_NOW = "2030-01-01T00:00:00Z";

export interface TranslateCase {
  readonly objects: readonly unknown[];
  /** Null where nothing was published before. */
  readonly published: readonly unknown[] | null;
  readonly options: TranslateOptions;
  readonly publishedOptions: TranslateOptions;
  /** Whether the case is about claims to hosts. */
  readonly showsClaims: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Names of all cases, sorted. */
export function caseNames(): string[] {
  return namesEndingIn(FOLDER, ".in.yaml");
}

/** Names of all golden outputs, sorted. */
export function outputNames(): string[] {
  return namesEndingIn(FOLDER, ".out.yaml");
}

export function outputFile(name: string): URL {
  return new URL(`${name}.out.yaml`, FOLDER);
}

export function readCase(name: string): TranslateCase {
  const text = Deno.readTextFileSync(new URL(`${name}.in.yaml`, FOLDER));
  const values = parseObjects(text, name);
  const settings = isSettings(values[0]) ? values.shift() as Settings : {};
  return {
    objects: values,
    published: settings.published ?? null,
    options: { ...DEFAULT_OPTIONS, ...settings.options, claims: claimsOf(settings.claims) },
    showsClaims: settings.claims !== undefined,
    publishedOptions: { ...DEFAULT_OPTIONS, ...settings.options, ...settings.publishedOptions },
    now: Date.parse(settings.now ?? DEFAULT_NOW),
  };
}

export function runCase(
  { objects, published, options, publishedOptions, now }: TranslateCase,
): Translation {
  // Published when there were no claims yet.
  const shared = { ...publishedOptions, hostOwnership: "shared", claims: null } as const;
  const before = published === null
    ? null
    : translate(resourcesOf(published), null, shared, () => now).snapshot;
  return translate(resourcesOf(objects), before, options, () => now);
}

/** The translation after the one of the case, whose snapshot was published. */
export function runAgain(input: TranslateCase): Translation {
  const { objects, options, now } = input;
  const { snapshot, claims } = runCase(input);
  return translate(resourcesOf(objects), snapshot, { ...options, claims }, () => now);
}

/** The whole of a translation as YAML, small maps on one line; of certificates only who they are. */
export function formatTranslation(translation: Translation, showsClaims = false): string {
  const { snapshot, problems, statuses, claims } = translation;
  const shown = {
    snapshot,
    // The test compares facts with messages.
    problems: problems.map(({ facts: _, ...text }) => text),
    statuses,
    ...(showsClaims ? { claims: claims === null ? null : Object.fromEntries(claims) } : {}),
  };
  const plain = JSON.parse(JSON.stringify(shown)) as typeof shown;
  for (const { chain } of plain.snapshot.certificates) {
    if (chain.kind === "pem") Object.assign(chain, { pem: describeChain(chain.pem) });
  }
  const document = new Document(plain, { aliasDuplicateObjects: false });
  shortenSmallMaps(document, { items: 4, length: 40 });
  return document.toString({ lineWidth: 100 });
}

interface Settings {
  readonly options?: Partial<TranslateOptions>;
  readonly published?: readonly unknown[];
  /** Options under which that was published, where they were others. */
  readonly publishedOptions?: Partial<TranslateOptions>;
  readonly claims?: Readonly<Record<string, readonly RecordedClaim[]>> | null;
  readonly now?: string;
}

function claimsOf(claims: Settings["claims"]): HostClaims | null {
  return claims === undefined || claims === null ? null : new Map(Object.entries(claims));
}

function isSettings(value: unknown): boolean {
  return typeof value === "object" && value !== null && !("kind" in value);
}

/** Objects by kind; those of a kind that is not in the list go nowhere, as in the controller. */
export function resourcesOf(objects: readonly unknown[]): Resources {
  const ofKind = (kind: string) =>
    objects.filter((object) => (object as { kind?: unknown } | null)?.kind === kind) as never[];
  return {
    ingresses: ofKind("Ingress"),
    ingressClasses: ofKind("IngressClass"),
    services: ofKind("Service"),
    endpointSlices: ofKind("EndpointSlice"),
    secrets: ofKind("Secret"),
    configMaps: ofKind("ConfigMap"),
    gatewayConfigMaps: ofKind("ConfigMap"),
    namespaces: ofKind("Namespace"),
    nodes: ofKind("Node"),
    serviceCidrs: ofKind("ServiceCIDR"),
    gatewayClasses: ofKind("GatewayClass"),
    gateways: ofKind("Gateway"),
    httpRoutes: ofKind("HTTPRoute"),
    referenceGrants: ofKind("ReferenceGrant"),
    backendTlsPolicies: ofKind("BackendTLSPolicy"),
    listenerSets: ofKind("ListenerSet"),
  };
}

function describeChain(pem: string): string {
  return pem.split(/(?<=-----END CERTIFICATE-----\n)/)
    .map((block) => new X509Certificate(block).subject)
    .join(", then ");
}
