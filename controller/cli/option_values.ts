/**
 * Values of flags that are more than one word. In: text as a user writes it. Out: what it means, or
 * null.
 */
import type { DefaultCertificate } from "../translate/certificates/default_certificate.ts";
import { REFUSABLE_KEYS } from "../translate/config_map/table.ts";
import type { ConfigMapName } from "../translate/model/global_settings.ts";
import type { DefaultBackend } from "../translate/translator.ts";
import { REFUSABLE } from "../translate/annotations/nginx/refusals.ts";
import { isDnsLabel, isDnsName, isLabelName, isPortName } from "../base/names.ts";

/** `default/web:80`, with the port's number or name; null for anything else. */
export function parseDefaultBackend(text: string): DefaultBackend | null {
  const match = /^([^/:]+)\/([^/:]+):([^/:]+)$/.exec(text);
  if (match === null) return null;
  const [, namespace, name, port] = match;
  if (!isDnsLabel(namespace) || !isDnsLabel(name)) return null;
  if (isPortName(port)) return { namespace, name, port };
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  return number >= 1 && number <= 65535 ? { namespace, name, port: number } : null;
}

/** `auth-url,limit-rps`. */
export function namesOf(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

export function acceptCheck(text: string): string | null {
  return namesOf(text).every((name) => REFUSABLE.includes(name) || REFUSABLE_KEYS.includes(name))
    ? null
    : "names of annotations, or keys of the ConfigMap, that close paths, such as limit-rps";
}

/** `NAMESPACE/NAME` of a Secret. */
export function parseSecretName(text: string): DefaultCertificate | null {
  return parseConfigMapName(text);
}

/** `NAMESPACE/NAME` of a ConfigMap. */
export function parseConfigMapName(text: string): ConfigMapName | null {
  const [namespace, name, ...more] = text.split("/");
  return isDnsLabel(namespace) && isDnsName(name ?? "") && more.length === 0
    ? { namespace, name }
    : null;
}

/** `a=b,example.com/c=d`. */
export function parseLabels(text: string): Record<string, string> | null {
  const labels: Record<string, string> = {};
  for (const pair of text.split(",")) {
    const [key, value, ...rest] = pair.split("=");
    const [name, prefix, ...more] = key.split("/").reverse();
    if (value === undefined || rest.length > 0 || more.length > 0) return null;
    if (!isLabelName(name) || (prefix !== undefined && !isDnsName(prefix))) return null;
    if (value !== "" && !isLabelName(value)) return null;
    labels[key] = value;
  }
  return labels;
}

/** Split at the first `=`: values may hold more of them. */
export function parseAnnotation(text: string): readonly [string, string] | null {
  const match = /^([^=]+)=(.*)$/s.exec(text);
  if (match === null) return null;
  const [name, prefix, ...more] = match[1].split("/").reverse();
  const isKey = isLabelName(name) && (prefix === undefined || isDnsName(prefix));
  return isKey && more.length === 0 ? [match[1], match[2]] : null;
}

/** A check for the name of an object that is a DNS label; `what` it must be. */
export function labelCheck(what: string): (value: string) => string | null {
  return (value) => isDnsLabel(value) ? null : what;
}
