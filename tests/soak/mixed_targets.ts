/** What the mixed load asks for. In: nothing. Out: hosts and paths. */

/** The host with a certificate; any other is served without. */
export const SECURE_HOST = "secure.test";

/** Leads to the backend that speaks HTTP/2 itself. */
export const RPC_PATH = "/pingress.test.Echo";
