/**
 * Names as the API server checks them (k8s.io/apimachinery/pkg/util/validation). In: text. Out:
 * whether it is such a name.
 */

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const DNS_LABEL = new RegExp(`^${LABEL}$`);
const DNS_NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/** RFC 1123 label: names of namespaces and Services. */
export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && DNS_LABEL.test(text);
}

/** RFC 1123 name: names of other objects, and hosts. Its labels may be of any length, as there. */
export function isDnsName(text: string): boolean {
  return text.length <= 253 && DNS_NAME.test(text);
}

/**
 * The name of a port that an Ingress may use (RFC 6335 §5.1). It has a letter, so a number in
 * quotes is none, and a port's number and name never look the same.
 */
export function isPortName(text: string): boolean {
  return isDnsLabel(text) && /[a-z]/.test(text);
}

/**
 * Keys of labels and annotations, and names in the same form such as load balancer classes.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 */
const LABEL_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** The name of a label without a prefix, or a value of one that is not empty: they have the same form. */
export function isLabelName(text: string): boolean {
  return LABEL_NAME.test(text);
}

/** `name`, or `example.com/name`. */
export function isQualifiedName(text: string): boolean {
  const slash = text.indexOf("/");
  const isPrefixed = slash < 0 || isDnsName(text.slice(0, slash));
  return isPrefixed && isLabelName(text.slice(slash + 1));
}
