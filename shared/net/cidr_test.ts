import assert from "node:assert/strict";
import { CidrList } from "./cidr.ts";

Deno.test("a CIDR list contains the addresses of its blocks", () => {
  const list = CidrList.parse("10.0.0.0/8, 192.168.1.7 ,fd00::/8");
  assert.ok(list instanceof CidrList);
  for (const address of ["10.255.0.1", "::ffff:10.0.0.1", "192.168.1.7", "fd12::1", "FD12::1"]) {
    assert.ok(list.contains(address), address);
  }
  for (const address of ["11.0.0.1", "192.168.1.8", "fe80::1", "::ffff:11.0.0.1", "name", ""]) {
    assert.ok(!list.contains(address), address);
  }
  assert.ok(!CidrList.empty.contains("10.0.0.1"));
});

Deno.test("an invalid block is rejected with a sentence", () => {
  for (const text of ["10.0.0.0/33", "fd00::/129", "10.0/8", "name", "10.0.0.0/x", "1.2.3.4/8/9"]) {
    assert.equal(typeof CidrList.parse(text), "string", text);
  }
});
