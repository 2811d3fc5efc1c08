import assert from "node:assert/strict";
import { lacksIpv6, onIpv4, onPrivilegedPorts } from "./listen_addresses.ts";

const ANY = { hostname: "::", port: 8080 };
const NONE = { listenHttp: [], listenHttps: [], admin: { hostname: "127.0.0.1", port: 9090 } };

/** What listening fails with. */
function failing(code: string) {
  return () => {
    throw Object.assign(new Error("no"), { code });
  };
}

Deno.test("on a system without IPv6 the proxy listens on IPv4 in place of [::]", () => {
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

Deno.test("IPv6 is probed only for [::], and other errors do not count as its absence", () => {
  assert.equal(lacksIpv6(NONE, failing("EAFNOSUPPORT")), false);
  for (const code of ["EADDRINUSE", "EMFILE", "EACCES"]) {
    assert.equal(lacksIpv6({ ...NONE, admin: ANY }, failing(code)), false);
  }
  let closed = false;
  const listen = () => ({ close: () => closed = true });
  assert.equal(lacksIpv6({ ...NONE, admin: ANY }, listen), false);
  assert.equal(closed, true);
});

Deno.test("without a named listener the proxy uses ports 80 and 443 if permitted", () => {
  const address = (port: number) => [{ hostname: "0.0.0.0", port }];
  const unnamed = {
    ...NONE,
    listenHttp: address(8080),
    listenHttps: address(8443),
    listensByDefault: true,
  };
  const portsOf = (options: typeof unnamed, refuse: (port: number) => Error | null) => {
    const { listenHttp, listenHttps } = onPrivilegedPorts(options, ({ port }) => {
      const error = refuse(port);
      if (error !== null) throw error;
      return { close: () => {} };
    });
    return [...listenHttp, ...listenHttps].map(({ port }) => port);
  };
  assert.deepEqual(portsOf(unnamed, () => null), [80, 443]);
  const named = { ...unnamed, listensByDefault: false };
  assert.deepEqual(portsOf(named, () => null), [8080, 8443]);
  const { AddrInUse, NotCapable, PermissionDenied } = Deno.errors;
  assert.deepEqual(portsOf(unnamed, () => new PermissionDenied("no")), [8080, 8443]);
  assert.deepEqual(portsOf(unnamed, () => new NotCapable("no")), [8080, 8443]);
  const onlyHttps = (port: number) => port === 443 ? new PermissionDenied("no") : null;
  assert.deepEqual(portsOf(unnamed, onlyHttps), [8080, 8443]);
  // Said once it is listened on.
  assert.deepEqual(portsOf(unnamed, () => new AddrInUse("no")), [80, 443]);
});
