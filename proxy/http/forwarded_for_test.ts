import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import { addressIn, originalClient } from "./forwarded_for.ts";

Deno.test("an address is parsed with or without port and brackets, and nothing else is one", () => {
  const elements: [element: string, address: string | null][] = [
    ["10.0.0.1", "10.0.0.1"],
    ["10.0.0.1:80", "10.0.0.1"],
    ["10.0.0.1:65535", "10.0.0.1"],
    ["2001:db8::1", "2001:db8::1"],
    ["2001:DB8::1", "2001:DB8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::FFFF:10.0.0.1", "10.0.0.1"],
    ["::ffff:a00:1", "10.0.0.1"],
    ["[::ffff:10.0.0.1]:80", "10.0.0.1"],
    ["", null],
    ["unknown", null],
    ["_hidden", null],
    ["<script>", null],
    ["a.test", null],
    ["10.0.0", null],
    ["10.0.0.256", null],
    ["010.0.0.1", null],
    ["0x7f000001", null],
    ["2130706433", null],
    ["10.0.0.1:", null],
    ["10.0.0.1:x", null],
    ["10.0.0.1:123456", null],
    ["10.0.0.1 80", null],
    ["10.0.0.1/8", null],
    ["[10.0.0.1]", null],
    ["[2001:db8::1", null],
    ["2001:db8::1]", null],
    ["[2001:db8::1]443", null],
    ["[2001:db8::1]:", null],
    ['"10.0.0.1"', null],
    ["fe80::1%<script>", null],
  ];
  for (const [element, address] of elements) {
    assert.equal(addressIn(element), address, JSON.stringify(element));
  }
});

Deno.test("the client is the last address that is not a trusted proxy; an invalid address ends the search", () => {
  const trusted = CidrList.parse("127.0.0.0/8, 2001:db8::/32") as CidrList;
  const chains: [chain: string[], client: string][] = [
    [[], "127.0.0.1"],
    [["6.6.6.6"], "6.6.6.6"],
    [["6.6.6.6", "7.7.7.7"], "7.7.7.7"],
    [["6.6.6.6", "127.0.0.5"], "6.6.6.6"],
    [["6.6.6.6", "127.0.0.5:4444"], "6.6.6.6"],
    [["6.6.6.6", "[::ffff:127.0.0.5]"], "6.6.6.6"],
    [["6.6.6.6:99", "[2001:db8::7]:443", "127.0.0.5"], "6.6.6.6"],
    [["127.0.0.8", "127.0.0.9"], "127.0.0.8"],
    [["6.6.6.6", "unknown"], "127.0.0.1"],
    [["6.6.6.6", "unknown", "127.0.0.5:1"], "127.0.0.5"],
    [["unknown", "6.6.6.6", "127.0.0.5"], "6.6.6.6"],
    [["1.2.3.4", "<script>"], "127.0.0.1"],
  ];
  for (const [chain, client] of chains) {
    assert.equal(originalClient(chain, "127.0.0.1", trusted), client, chain.join(", "));
  }
});
