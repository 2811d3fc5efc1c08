import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { CidrList } from "./cidr.ts";
import { canonicalNetwork, NetworkSet } from "./network_set.ts";

const CASES: readonly (readonly [networks: string[], inside: string[], outside: string[]])[] = [
  [[], [], ["10.0.0.1", "::1"]],
  [["10.0.0.0/8"], ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"], [
    "9.255.255.255",
    "11.0.0.0",
  ]],
  [["192.0.2.7"], ["192.0.2.7"], ["192.0.2.6", "192.0.2.8", "::c000:207"]],
  [["fd00::/8"], ["fd00::", "FDFF::1", "fd12::1%eth0"], ["fc00::", "fe00::", "253.0.0.1"]],
  [["0.0.0.0/0"], ["0.0.0.0", "255.255.255.255", "::ffff:1.2.3.4"], ["::", "::1"]],
  // It holds no IPv4 address, or a list for IPv6 alone would admit all of IPv4.
  [["::/0"], ["::", "::1", "2001:db8::1"], ["1.2.3.4", "::ffff:1.2.3.4"]],
  [["::ffff:192.0.2.0/120"], ["192.0.2.1", "::ffff:192.0.2.255"], ["192.0.3.1", "::1"]],
  [["10.1.2.3/8"], ["10.0.0.1"], ["11.0.0.1"]],
  [["10.0.0.0/9", "10.128.0.0/9", "10.1.0.0/16"], ["10.127.255.255", "10.128.0.0"], ["11.0.0.0"]],
  [["10.0.0.0/8"], [], ["", "name", "10.0.0", "10.0.0.1/8", "0x0a000001"]],
];

for (const [networks, inside, outside] of CASES) {
  Deno.test(`the networks ${networks.join(", ") || "of no list"} contain their addresses only`, () => {
    const set = new NetworkSet(networks);
    for (const address of inside) assert.ok(set.contains(address), address);
    for (const address of outside) assert.ok(!set.contains(address), address);
  });
}

Deno.test("a set of networks agrees with a list that is searched from end to end", () => {
  const random = new Random(7);
  let hits = 0;
  for (let round = 0; round < 200; round++) {
    const networks = Array.from({ length: random.between(1, 40) }, () => network(random));
    const set = new NetworkSet(networks);
    const list = CidrList.parse(networks.join(","));
    assert.ok(list instanceof CidrList);
    for (let i = 0; i < 100; i++) {
      const address = random.oneIn(2) ? ipv4(random) : ipv6(random);
      const expected: boolean = list.contains(address);
      if (expected) hits++;
      assert.equal(set.contains(address), expected, `${address} in ${networks}`);
    }
  }
  assert.ok(hits > 2_000 && hits < 18_000, `${hits} of 20,000 addresses are inside`);
});

/** Few different ones, so that networks overlap and addresses are in them. */
function ipv4(random: Random): string {
  return `${random.pick([9, 10, 11])}.${random.pick([0, 127, 128, 255])}.0.${random.below(4)}`;
}

function ipv6(random: Random): string {
  return `fd0${random.below(4)}:${random.below(4)}::${random.below(4)}`;
}

function network(random: Random): string {
  return random.oneIn(2)
    ? canonicalNetwork(ipv4(random), random.between(6, 32))
    : canonicalNetwork(ipv6(random), random.between(6, 128));
}

Deno.test("a network of IPv4 is the same with and without the fast way to it", () => {
  const random = new Random(11);
  for (let round = 0; round < 2_000; round++) {
    const bytes = Array.from({ length: 4 }, () => random.below(256));
    const bits = random.below(33);
    const mask = bits === 0 ? 0 : (0xffffffff << (32 - bits)) >>> 0;
    const number = ((bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]) & mask) >>> 0;
    const expected = [24, 16, 8, 0].map((shift) => number >>> shift & 255).join(".");
    assert.equal(canonicalNetwork(bytes.join("."), bits), `${expected}/${bits}`);
    assert.equal(
      canonicalNetwork(`::ffff:${bytes.join(".")}`, 128).endsWith("/128"),
      true,
    );
  }
  // Not decimal, or not four numbers: read as before.
  assert.equal(canonicalNetwork("010.0.0.1", 32), "8.0.0.1/32");
  assert.throws(() => canonicalNetwork("1.2.3.256", 32));
  assert.throws(() => canonicalNetwork("1.2.3.4.", 32));
});
