/**
 * What ingress-nginx's ConfigMap says. In: the object, or what was kept of it when it was published
 * last, and what the operator accepts. Out: settings for all Ingresses of the profile, a problem for
 * each key without an effect, and what is to be kept.
 *
 * It may protect, so without it all paths of the profile are closed: the first time that it cannot be
 * read. One that goes later leaves its settings, as uninstalling ingress-nginx takes it away.
 */
import { formatObject, type ObjectRef } from "../../../shared/problem.ts";
import type { BlockedClients, GlobalConfig, ReplyAction } from "../../../shared/snapshot/types.ts";
import { asObject, fieldOf, quote } from "../../base/json.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import {
  type ObjectProblem,
  type Recorded,
  recordProblems,
  type Report,
} from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import { hostOfAuthUrl } from "../annotations/nginx/external.ts";
import { correction, invalid, trimmed } from "../annotations/nginx/rows/value.ts";
import {
  type ConfigMapName,
  type GlobalSettings,
  NO_AUTH_LOCATIONS,
  NO_GLOBALS,
} from "../model/global_settings.ts";
import { ACCESS_KEYS, ADDRESS_KEYS, AUTHENTICATION_KEYS, TENANT_KEYS } from "./access_keys.ts";
import { type ConfigKey, hasEffect, isKeyOff, keyCloses, type KeyGroup } from "./key.ts";
import { KEYS } from "./table.ts";

export interface ConfigMapOptions {
  /** Of the ConfigMap; missing or null for none. */
  readonly configMap?: ConfigMapName | null;
  /** Keys and annotations that close nothing. */
  readonly acceptUnsupported: readonly string[];
}

export interface GlobalReading {
  readonly settings: GlobalSettings;
  /** For the snapshot; null for nothing. */
  readonly kept: GlobalConfig | null;
  readonly problems: readonly ObjectProblem[];
}

const NONE: GlobalReading = { settings: NO_GLOBALS, kept: null, problems: [] };

const NO_REMEDY = "Remove the key if the paths may be served without it";

/** In characters; lists stand in the filters of all routes. */
const MAX_VALUE = 16_384;

/** What one ConfigMap says; or all that is known of it. */
interface Content {
  /** Trimmed as their types say; null where a value is no text. */
  readonly texts: ReadonlyMap<string, string | null>;
  /** Keys that were not supported, and those that were not valid: their values were not kept. */
  readonly unsupported: readonly string[];
  readonly invalid: readonly string[];
}

interface Inputs {
  readonly ref: ObjectRef;
  readonly content: Content | null;
  readonly isGone: boolean;
  readonly accepted: readonly string[];
  readonly isAuthHostAssigned: boolean;
}

export class GlobalSettingsReader {
  readonly #last = new LastResult<Inputs, GlobalReading>();

  /**
   * The very same settings as long as the ConfigMap says the same.
   *
   * @param objects ConfigMaps; null where they cannot be read.
   * @param published What was kept in the snapshot that was published last.
   * @param assigned Hosts that belong to a namespace because an administrator says so.
   */
  read(
    objects: readonly unknown[] | null,
    published: GlobalConfig | null,
    { configMap, acceptUnsupported: accepted }: ConfigMapOptions,
    assigned: ReadonlyMap<string, unknown> = NOTHING_ASSIGNED,
  ): GlobalReading {
    if (configMap == null) return NONE;
    const ref: ObjectRef = { kind: "ConfigMap", ...configMap };
    const object = objects?.find((each) => isNamed(each, configMap));
    const isGone = object === undefined;
    const content = object !== undefined
      ? contentOf(object)
      : published?.configMap === nameOf(configMap)
      ? contentOfKept(published)
      : null;
    const url = content?.texts.get(AUTH_URL_KEY) ?? "";
    const isAuthHostAssigned = url !== "" && assigned.has(hostOfAuthUrl(url) ?? "");
    const inputs = { ref, content, isGone, accepted, isAuthHostAssigned };
    const known = this.#last.recall((before) => isSameInputs(before, inputs));
    if (known !== null) return known;
    const { value, problems } = readContent(inputs);
    return this.#last.keep(inputs, { ...value, problems });
  }
}

const AUTH_URL_KEY = "global-auth-url";

const NOTHING_ASSIGNED: ReadonlyMap<string, unknown> = new Map();

function readContent(
  { ref, content, isGone, accepted, isAuthHostAssigned }: Inputs,
): Recorded<Omit<GlobalReading, "problems">> {
  return recordProblems((list) => {
    const report = list.about(ref);
    if (isGone) reportMissing(content !== null, report);
    if (content === null) {
      const closure = closed(`${formatObject(ref)} cannot be read`);
      return { settings: { ...NO_GLOBALS, closure }, kept: null };
    }
    const keys = new KeyReader(ref, content, accepted, report);
    return {
      settings: {
        closure: keys.closure,
        defaults: keys.defaults,
        risk: keys.valueOf(TENANT_KEYS, "annotations-risk-level"),
        forbiddenWords: keys.valueOf(TENANT_KEYS, "annotation-value-word-blocklist") ?? [],
        externalAuth: keys.globalAuth.has("auth-url")
          ? { texts: keys.globalAuth, isHostAssigned: isAuthHostAssigned }
          : null,
        noAuthLocations: keys.kept["no-auth-locations"] === ""
          ? []
          : keys.valueOf(AUTHENTICATION_KEYS, "no-auth-locations") ?? NO_AUTH_LOCATIONS,
        blockedClients: readBlockedClients(keys),
        trustedProxies: keys.valueOf(ADDRESS_KEYS, "use-forwarded-headers") === true
          ? keys.valueOf(ADDRESS_KEYS, "proxy-real-ip-cidr") ?? []
          : [],
      },
      kept: {
        configMap: nameOf(ref),
        values: keys.kept,
        unsupported: keys.unsupported,
        invalid: keys.invalid,
      },
    };
  });
}

function readBlockedClients(keys: KeyReader): BlockedClients | null {
  const networks = keys.valueOf(ACCESS_KEYS, "block-cidrs");
  const userAgents = keys.valueOf(ACCESS_KEYS, "block-user-agents");
  const referers = keys.valueOf(ACCESS_KEYS, "block-referers");
  if (networks === null && userAgents === null && referers === null) return null;
  return {
    ...(networks === null ? {} : { networks }),
    ...(userAgents === null ? {} : { userAgents }),
    ...(referers === null ? {} : { referers }),
  };
}

function reportMissing(isKept: boolean, report: Report): void {
  report.error("", {
    reason: "ConfigMapNotFound",
    message: isKept
      ? "the ConfigMap of --configmap cannot be read, so its last settings stay in effect"
      : "the ConfigMap of --configmap cannot be read, and it may protect, so all paths of the " +
        "profile nginx return 503",
    remedy: isKept
      ? "Create it again, or start the controller without --configmap to drop its settings"
      : "Create it, and allow the controller's service account the verbs list and watch on it, " +
        "or start the controller without --configmap",
  });
}

type ValueOf<K> = K extends ConfigKey<infer T> ? T : never;

/** Reads each key once, in the order of their names. */
class KeyReader {
  /** Of the first key that closes. */
  closure: ReplyAction | null = null;
  readonly kept: Record<string, string> = {};
  readonly defaults = new Map<string, string>();
  /** Of annotations about external authentication. */
  readonly globalAuth = new Map<string, string>();
  readonly unsupported: string[] = [];
  readonly invalid: string[] = [];
  readonly #ref: ObjectRef;
  readonly #content: Content;
  readonly #accepted: readonly string[];
  readonly #report: Report;

  constructor(ref: ObjectRef, content: Content, accepted: readonly string[], report: Report) {
    this.#ref = ref;
    this.#content = content;
    this.#accepted = accepted;
    this.#report = report;
    const names = [...content.texts.keys(), ...content.unsupported, ...content.invalid];
    for (const name of names.sort(compareText)) this.#read(name);
  }

  /** "" for none, and for what is no text. */
  textOf(name: string): string {
    return this.#content.texts.get(name) ?? "";
  }

  /** Of a key with an effect; null where it is missing, empty or invalid. */
  valueOf<G extends KeyGroup, N extends keyof G & string>(group: G, name: N): ValueOf<G[N]> | null {
    const text = this.kept[name];
    return text === undefined ? null : group[name].value.read(text) as ValueOf<G[N]> | null;
  }

  #read(name: string): void {
    const row = KEYS.get(name);
    if (row === undefined) {
      this.#warn(name, {
        message: `there is no key ${quote(name)}, so it has no effect`,
        remedy: "Remove the key, or use a name from docs/configmap.md",
      });
      return;
    }
    if (this.#content.unsupported.includes(name)) return this.#refuse(name, row, null);
    if (this.#content.invalid.includes(name)) return this.#invalid(name, row, null);
    const text = this.#content.texts.get(name) ?? null;
    if (text === "" && row.takesEmpty === true) {
      this.kept[name] = "";
      return;
    }
    if (text !== "" && hasEffect(row) && row.beside?.every((main) => !this.#isRequested(main))) {
      return this.#warn(name, withoutEffect(name, row, this.#content));
    }
    // Of a default, "off" and 0 are values.
    if (text === "" || (text !== null && !hasEffect(row) && isKeyOff(row, text))) return;
    const value = text === null || text.length > MAX_VALUE ? null : row.value.read(text);
    if (hasEffect(row)) {
      if (value === null) return this.#invalid(name, row, text);
      const lacking = row.lacks?.(value, (other) => this.textOf(other)) ?? null;
      if (lacking !== null) return this.#refuse(name, row, null, lacking);
      this.kept[name] = text!;
      if (row.annotation !== undefined) this.defaults.set(row.annotation, text!);
      if (row.globalAuth !== undefined) this.globalAuth.set(row.globalAuth, text!);
      return;
    }
    if (keyCloses(row)) {
      const isHarmless = value !== null &&
        (row.isHarmless?.(value, (other) => this.textOf(other)) ?? false);
      if (!isHarmless) this.#refuse(name, row, null);
      return;
    }
    this.#warn(name, withoutEffect(name, row, this.#content));
  }

  /** Valid or not, also where its value was not kept. */
  #isRequested(name: string): boolean {
    const { texts, unsupported, invalid } = this.#content;
    const text = texts.get(name) ?? null;
    const row = KEYS.get(name);
    const isOff = text !== null && (row === undefined ? text === "" : isKeyOff(row, text));
    return (texts.has(name) && !isOff) || unsupported.includes(name) || invalid.includes(name);
  }

  /**
   * @param fault What is wrong with its value; null where it is not supported, whatever its value.
   * @param lacking What it needs to be supported.
   */
  #refuse(
    name: string,
    row: ConfigKey,
    fault: string | null,
    lacking = "is not supported",
  ): void {
    if (fault === null) {
      this.unsupported.push(name);
      if (this.#accepted.includes(name)) {
        return this.#warn(name, {
          message: `key ${quote(name)} ${lacking}, and the paths are served without it: ` +
            "--accept-unsupported accepts that",
          remedy: row.remedyFor?.(true, (other) => this.textOf(other)) ?? "Remove the key",
        });
      }
    }
    if (fault !== null) this.invalid.push(name);
    const why = fault ?? lacking;
    const remedy = row.remedyFor?.(false, (other) => this.textOf(other)) ??
      `${row.closedRemedy ?? NO_REMEDY}, or accept it by --accept-unsupported=${name}`;
    this.#report.error(fieldOfKey(name), {
      reason: "NginxConfigMap",
      message: `key ${quote(name)} ${why}, so all paths of the profile nginx return 503`,
      remedy: fault === null ? remedy : correction(row.value),
    });
    this.closure ??= closed(`key ${quote(name)} of ${formatObject(this.#ref)} ${why}`);
  }

  /** @param text Null where it is not known, or none. */
  #invalid(name: string, row: ConfigKey, text: string | null): void {
    if (row.protects) {
      this.#refuse(name, row, invalid(row.value, text));
      return;
    }
    this.#warn(name, {
      message: `key ${quote(name)} ${invalid(row.value, text)}, so it has no effect`,
      remedy: correction(row.value),
    });
  }

  #warn(name: string, text: { readonly message: string; readonly remedy: string }): void {
    this.#report.warning(fieldOfKey(name), { reason: "NginxConfigMap", ...text });
  }
}

function withoutEffect(
  name: string,
  row: ConfigKey,
  { texts }: Content,
): { readonly message: string; readonly remedy: string } {
  const { verdict, beside } = row;
  // One with an effect has none only where each of the others is off.
  const main = hasEffect(row)
    ? undefined
    : beside?.find((other) => (texts.get(other) ?? "") !== "");
  if (beside !== undefined && main === undefined) {
    return {
      message: `key ${quote(name)} has no effect without ${beside.join(" or ")}`,
      remedy: "Remove the key",
    };
  }
  if (main !== undefined) {
    return {
      message: `key ${quote(name)} has no effect here, as ${main} is not supported`,
      remedy: `Remove it together with ${main}`,
    };
  }
  const message = `key ${quote(name)} has no effect here`;
  switch (verdict.kind) {
    case "always":
      return { message: `${message}: ${verdict.because}`, remedy: "Remove the key" };
    case "refused":
      return { message: `${message}: ${verdict.because}`, remedy: verdict.remedy };
    case "not-yet":
      return {
        message: verdict.flag ? `${message}: flags of the proxy set this` : message,
        remedy: verdict.remedy === null
          ? "There is no replacement yet; remove the key if you do not need it"
          : `${verdict.remedy}; then remove the key`,
      };
    default:
      return { message, remedy: "Remove the key" };
  }
}

export function fieldOfKey(name: string): string {
  return `data[${JSON.stringify(name)}]`;
}

/** The reason is for `explain`; clients see the status alone. */
function closed(reason: string): ReplyAction {
  return { kind: "reply", status: 503, reason, closed: true };
}

function nameOf({ namespace, name }: ConfigMapName): string {
  return `${namespace}/${name}`;
}

function isNamed(object: unknown, { namespace, name }: ConfigMapName): boolean {
  const metadata = fieldOf(object, "metadata");
  return fieldOf(metadata, "name") === name && fieldOf(metadata, "namespace") === namespace;
}

function contentOf(object: unknown): Content {
  const data = asObject(fieldOf(object, "data")) ?? {};
  const texts = new Map(Object.entries(data).map(([name, value]) => [name, textOf(name, value)]));
  return { texts, unsupported: [], invalid: [] };
}

function contentOfKept({ values, unsupported, invalid }: GlobalConfig): Content {
  return { texts: new Map(Object.entries(values)), unsupported, invalid };
}

/** YAML that was not quoted has booleans and numbers; the API has text alone. */
function textOf(name: string, value: unknown): string | null {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return trimmed(value, KEYS.get(name)?.value, true);
  return typeof value === "boolean" || typeof value === "number" ? String(value) : null;
}

function isSameInputs(a: Inputs, b: Inputs): boolean {
  return formatObject(a.ref) === formatObject(b.ref) && a.isGone === b.isGone &&
    a.isAuthHostAssigned === b.isAuthHostAssigned &&
    isSameList(a.accepted, b.accepted) && isSameContent(a.content, b.content);
}

function isSameContent(a: Content | null, b: Content | null): boolean {
  if (a === null || b === null) return a === b;
  return isSameList(a.unsupported, b.unsupported) && isSameList(a.invalid, b.invalid) &&
    a.texts.size === b.texts.size &&
    a.texts.entries().every(([name, text]) => b.texts.has(name) && b.texts.get(name) === text);
}
