import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import { UpstreamNetworks } from "./networks.ts";

function rules(networks = "", allowLoopback = false): UpstreamNetworks {
  return new UpstreamNetworks({ networks: CidrList.parse(networks) as CidrList, allowLoopback });
}

Deno.test("no port of the range for listeners is dialled on their address, open or not", () => {
  const named = rules("", true);
  named.protectRange({ hostname: "127.0.0.1", from: 100, to: 102 });
  const refusals = [99, 100, 102, 103].map((port) => named.refusal("127.0.0.1", port));
  const own = "this proxy's own listener";
  assert.deepEqual(refusals, [null, own, own, null]);
  assert.equal(named.refusal("::ffff:127.0.0.1", 101), own);
  assert.equal(named.refusal("127.0.0.2", 101), null);
  for (const hostname of ["::", "0.0.0.0", "localhost"]) {
    const any = rules("", true);
    any.protectRange({ hostname, from: 100, to: 102 });
    const isOwn = (port: number, local: string) =>
      any.isOwn({ hostname: local, port: 50_000 }, { hostname: "10.0.0.1", port });
    assert.deepEqual([99, 100, 102, 103].map((port) => isOwn(port, "10.0.0.1")), [
      ...[false, true, true, false],
    ]);
    assert.equal(isOwn(101, "10.0.0.2"), false);
  }
});

Deno.test("pods, nodes and public addresses are allowed", () => {
  for (const address of ["10.0.0.1", "192.168.1.7", "8.8.8.8", "2001:db8::1", "fd00::1"]) {
    assert.equal(rules().refusal(address, 80), null, address);
  }
});

Deno.test("metadata, link-local, unspecified, multicast and loopback addresses are denied", () => {
  const refused: [address: string, why: RegExp][] = [
    ["169.254.169.254", /link-local/],
    ["169.254.0.1", /link-local/],
    ["::ffff:169.254.169.254", /link-local/],
    ["::ffff:a9fe:a9fe", /link-local/],
    ["64:ff9b::a9fe:a9fe", /link-local/],
    ["2002:a9fe:a9fe::1", /link-local/],
    ["fe80::1", /link-local/],
    ["fe80::1%eth0", /link-local/],
    ["fd00:ec2::254", /metadata/],
    ["100.100.100.200", /metadata/],
    ["168.63.129.16", /metadata/],
    ["0.0.0.0", /unspecified/],
    ["0.1.2.3", /unspecified/],
    ["::", /unspecified/],
    ["224.0.0.1", /multicast/],
    ["ff02::1", /multicast/],
    ["255.255.255.255", /broadcast/],
    ["127.0.0.1", /loopback/],
    ["127.8.9.1", /loopback/],
    ["::1", /loopback/],
    ["::ffff:127.0.0.1", /loopback/],
    ["64:ff9b::7f00:1", /loopback/],
    ["localhost", /not an address/],
    ["", /not an address/],
  ];
  for (const [address, why] of refused) {
    assert.match(rules().refusal(address, 80) ?? "allowed", why, address);
    // A network that holds it does not open it.
    if (why.source !== "not an address") {
      assert.match(rules("0.0.0.0/0,::/0").refusal(address, 80) ?? "allowed", why, address);
    }
  }
});

Deno.test("allowing loopback allows loopback addresses and nothing else", () => {
  const open = rules("", true);
  for (const address of ["127.0.0.1", "127.0.0.2", "::1"]) {
    assert.equal(open.refusal(address, 80), null, address);
  }
  for (const address of ["169.254.169.254", "0.0.0.0", "::", "fe80::1"]) {
    assert.notEqual(open.refusal(address, 80), null, address);
  }
});

Deno.test("with configured networks, every other address is denied", () => {
  const narrow = rules("10.0.0.0/8,fd00:10::/32");
  for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "fd00:10::7"]) {
    assert.equal(narrow.refusal(address, 80), null, address);
  }
  for (const address of ["11.0.0.1", "192.168.0.1", "fd00:11::7", "8.8.8.8"]) {
    assert.match(narrow.refusal(address, 80) ?? "allowed", /outside/, address);
  }
});

Deno.test("the proxy's own listeners are denied, even if loopback is allowed", () => {
  const own = rules("", true);
  own.protect({ hostname: "127.0.0.1", port: 9090 });
  own.protect({ hostname: "10.0.0.9", port: 80 });
  own.protect({ hostname: "0.0.0.0", port: 443 });
  assert.match(own.refusal("127.0.0.1", 9090) ?? "allowed", /own listener/);
  assert.match(own.refusal("::ffff:10.0.0.9", 80) ?? "allowed", /own listener/);
  assert.equal(own.refusal("127.0.0.1", 9091), null);
  assert.equal(own.refusal("10.0.0.8", 80), null);
  const end = (hostname: string, port: number) => ({ transport: "tcp" as const, hostname, port });
  assert.equal(own.isOwn(end("10.0.0.9", 40_000), end("10.0.0.9", 443)), true);
  assert.equal(own.isOwn(end("10.0.0.9", 40_000), end("10.0.0.8", 443)), false);
  assert.equal(own.isOwn(end("10.0.0.9", 40_000), end("10.0.0.9", 444)), false);
});
