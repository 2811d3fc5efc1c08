/** Ports that proxies of an installation listen on. In: nothing. Out: the ports. */

/** In their containers; from 1024 on no privilege is needed. */
export const PROXY_PORTS = { http: 8080, https: 8443, admin: 9090 } as const;

/** Of a proxy that is told of none, where it may listen on both. */
export const PRIVILEGED_PORTS = { http: 80, https: 443 } as const;
