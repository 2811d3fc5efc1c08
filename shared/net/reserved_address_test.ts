import assert from "node:assert/strict";
import { reservedAddress, type ReservedKind } from "./reserved_address.ts";

Deno.test("pods, nodes and public addresses are not reserved", () => {
  const addresses = [
    ...["10.0.0.1", "192.168.1.7", "172.16.0.1", "100.64.0.1", "8.8.8.8"],
    ...["2001:db8::1", "fd00::1", "fd00:ec2::255", "::ffff:10.0.0.1", "64:ff9b::808:808"],
    ...["2002:808:808::1", "::ffff:0:10.0.0.1", "2606:4700::1111"],
    // 10.0.0.1 by local-use NAT64, behind prefixes of 48, 56, 64 and 96 bits.
    ...["64:ff9b:1:a00:0:100::", "64:ff9b:1:ff0a:0:1::", "64:ff9b:1:ffff:a:0:100:0"],
    ...["64:ff9b:1::a00:1", "64:ff9b:1:ffff::a00:1"],
  ];
  for (const address of addresses) assert.equal(reservedAddress(address), null, address);
});

const CASES: readonly (readonly [form: string, kind: ReservedKind, address: string])[] = [
  ["loopback", "loopback", "127.0.0.1"],
  ["any of 127.0.0.0/8", "loopback", "127.8.9.1"],
  ["loopback of IPv6", "loopback", "::1"],
  ["IPv4-mapped", "loopback", "::ffff:127.0.0.1"],
  ["IPv4-translated, RFC 7915", "loopback", "::ffff:0:127.0.0.1"],
  ["IPv4-compatible", "loopback", "::127.0.0.1"],
  ["NAT64", "loopback", "64:ff9b::7f00:1"],
  ["local-use NAT64 by /96, RFC 8215", "loopback", "64:ff9b:1::7f00:1"],
  ["local-use NAT64 by /48, RFC 8215", "local", "64:ff9b:1:a9fe:a9:fe00::"],
  ["local-use NAT64 by /56", "local", "64:ff9b:1:ffa9:fe:a9fe::"],
  ["local-use NAT64 by /64", "local", "64:ff9b:1:ffff:a9:fea9:fe00:0"],
  ["local-use NAT64 by /64, with a suffix", "loopback", "64:ff9b:1:ffff:7f:0:100:1"],
  ["local-use NAT64 by /56, with bits beside it", "metadata", "64:ff9b:1:64:ff64:64c8:1:1"],
  ["NAT64 by /32, of a range that nobody has been given", "local", "64:ff9b:a9fe:a9fe::"],
  ["the same by /40", "local", "64:ff9b:2a9:fea9:fe::"],
  ["6to4", "loopback", "2002:7f00:1::1"],
  ["ISATAP", "loopback", "2001:db8::5efe:7f00:1"],
  ["Teredo, the client's", "local", "2001:0:808:808:0:0:5601:5601"],
  ["Teredo, the server's", "local", "2001:0:a9fe:a9fe::1"],
  ["link-local", "local", "169.254.169.254"],
  ["link-local of IPv6 with a zone", "local", "fe80::1%eth0"],
  ["link-local by NAT64", "local", "64:ff9b::a9fe:a9fe"],
  ["unspecified", "local", "0.0.0.0"],
  ["this network", "local", "0.1.2.3"],
  ["unspecified of IPv6", "local", "::"],
  ["multicast", "local", "224.0.0.1"],
  ["multicast of IPv6", "local", "ff02::1"],
  ["broadcast", "local", "255.255.255.255"],
  ["AWS, metadata", "metadata", "fd00:ec2::254"],
  ["AWS, EKS Pod Identity", "metadata", "fd00:ec2::23"],
  ["Google", "metadata", "fd20:ce::254"],
  ["Oracle over IPv6", "metadata", "fd00:c1::a9fe:a9fe"],
  ["Oracle, older", "metadata", "192.0.0.192"],
  ["Scaleway", "metadata", "fd00:42::42"],
  ["Alibaba", "metadata", "100.100.100.200"],
  ["Azure", "metadata", "168.63.129.16"],
  ["Azure by 6to4", "metadata", "2002:a83f:8110::"],
];

for (const [form, kind, address] of CASES) {
  Deno.test(`${address} is reserved: ${form}`, () => {
    assert.equal(reservedAddress(address)?.kind, kind);
  });
}
