import assert from "node:assert/strict";
import { asciiBytes } from "./fields.ts";
import { authorityAt, readAuthority } from "./host.ts";

Deno.test("an authority gives the host that routes are matched with", () => {
  const hosts: [authority: string, host: string][] = [
    ["a.test", "a.test"],
    ["A.Test:8080", "a.test"],
    ["a.test.", "a.test"],
    ["a.test.:80", "a.test"],
    ["a.test:", "a.test"],
    ["localhost", "localhost"],
    ["a_b-c.1.test", "a_b-c.1.test"],
    ["10.0.0.1:65535", "10.0.0.1"],
    ["[::1]", "[::1]"],
    ["[2001:DB8::A]:443", "[2001:db8::a]"],
    ["a".repeat(253), "a".repeat(253)],
  ];
  // Twice: the last one read is remembered.
  for (const [authority, host] of hosts) {
    assert.equal(readAuthority(authority), host);
    assert.equal(readAuthority(authority), host);
  }
});

Deno.test("an ambiguous authority is rejected", () => {
  for (
    const authority of [
      "",
      ":80",
      ".",
      "..",
      ".a",
      "a..b",
      "a..",
      "a b",
      "a,b",
      "a/b",
      "a@b",
      "a?b",
      "a#b",
      "a%62",
      "a:65536",
      "a:000080",
      "a:x",
      "a:80:80",
      "::1",
      "[::1",
      "[::1]a",
      "[1.2.3.4]",
      "[::%1]",
      "é.test",
      "a\n",
      "a".repeat(254),
    ]
  ) {
    assert.equal(readAuthority(authority), null, JSON.stringify(authority));
    assert.equal(readAuthority(authority), null, JSON.stringify(authority));
  }
});

Deno.test("an authority in bytes gives its text, whatever was parsed before", () => {
  // Neighbours differ in case, in one byte, or in length only.
  const authorities = ["a.test", "a.test", "A.test", "b.test", "a.tes", "a.test:80", "", "a.test"];
  for (const authority of authorities) {
    const bytes = asciiBytes(`<${authority}>`);
    assert.equal(authorityAt(bytes, 1, bytes.length - 1), authority);
    readAuthority(authority);
  }
});
