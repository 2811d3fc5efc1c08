import assert from "node:assert/strict";
import { lacksIpv6, onIpv4 } from "./listen_addresses.ts";

const ANY = { hostname: "::", port: 8080 };
const NONE = { listenHttp: [], listenHttps: [], admin: { hostname: "127.0.0.1", port: 9090 } };

/** What listening fails with. */
function failing(code: string) {
  return () => {
    throw Object.assign(new Error("no"), { code });
  };
}

Deno.test("a system that knows no IPv6 is asked to listen on IPv4 where [::] was asked for", () => {
  const options = { ...NONE, listenHttp: [ANY, { hostname: "::1", port: 1 }], drainDelay: 5 };
  assert.equal(lacksIpv6(options, failing("EAFNOSUPPORT")), true);
  assert.deepEqual(onIpv4(options), {
    ...options,
    listenHttp: [{ hostname: "0.0.0.0", port: 8080 }, { hostname: "::1", port: 1 }],
  });
  for (const more of [{ listenHttps: [ANY] }, { admin: ANY }]) {
    assert.equal(lacksIpv6({ ...NONE, ...more }, failing("EAFNOSUPPORT")), true);
  }
});

Deno.test("nobody looks for IPv6 where [::] was not asked for, and no other failure speaks against it", () => {
  assert.equal(lacksIpv6(NONE, failing("EAFNOSUPPORT")), false);
  for (const code of ["EADDRINUSE", "EMFILE", "EACCES"]) {
    assert.equal(lacksIpv6({ ...NONE, admin: ANY }, failing(code)), false);
  }
  let closed = false;
  const listen = () => ({ close: () => closed = true });
  assert.equal(lacksIpv6({ ...NONE, admin: ANY }, listen), false);
  assert.equal(closed, true);
});
