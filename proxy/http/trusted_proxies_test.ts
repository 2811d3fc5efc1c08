import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import type { Client } from "./message.ts";
import { TrustedProxies } from "./trusted_proxies.ts";

const OWN = CidrList.parse("192.0.2.0/24") as CidrList;

/** Of one connection from each address. */
function connectionsFrom(...addresses: string[]): { readonly client: Client }[] {
  return addresses.map((address) => ({ client: { address, trusted: false } as Client }));
}

Deno.test("networks of the process are trusted whatever the snapshot lists", () => {
  const trusted = new TrustedProxies(OWN);
  for (const networks of [[], ["10.0.0.0/8", "2001:db8::1"], ["198.51.100.0/24"], []]) {
    trusted.replace(networks, []);
    assert.equal(trusted.contains("192.0.2.9"), true);
    assert.equal(trusted.contains("10.1.2.3"), networks.includes("10.0.0.0/8"));
    assert.equal(trusted.contains("2001:db8::1"), networks.includes("2001:db8::1"));
    assert.equal(trusted.contains("2001:db8::2"), false);
    assert.equal(trusted.contains("no address"), false);
  }
});

Deno.test("open connections follow a change of the snapshot's networks", () => {
  const trusted = new TrustedProxies(OWN);
  const connections = connectionsFrom("192.0.2.1", "10.0.0.1", "198.51.100.1");
  const now = () => connections.map(({ client }) => client.trusted);
  trusted.replace([], connections);
  assert.deepEqual(now(), [false, false, false], "nothing has changed");
  trusted.replace(["10.0.0.0/8"], connections);
  assert.deepEqual(now(), [true, true, false]);
  trusted.replace(["198.51.100.1"], connections);
  assert.deepEqual(now(), [true, false, true]);
  trusted.replace([], connections);
  assert.deepEqual(now(), [true, false, false]);
});

Deno.test("a list that cannot be read ends the trust of the one before", () => {
  const trusted = new TrustedProxies(OWN);
  const connections = connectionsFrom("192.0.2.1", "10.0.0.1");
  trusted.replace(["10.0.0.0/8"], connections);
  assert.throws(() => trusted.replace(["10.0.0.0/8", "x"], connections));
  assert.equal(trusted.contains("10.0.0.1"), false);
  assert.deepEqual(connections.map(({ client }) => client.trusted), [true, false]);
});
