/**
 * How Ingresses of a class are read. In: nothing. Out: the names of profiles.
 */

/** `nginx`: as ingress-nginx reads them, with its defaults. `pingress`: as the API documents them. */
export type Profile = "pingress" | "nginx";
