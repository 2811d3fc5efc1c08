import assert from "node:assert/strict";
import ipaddr from "ipaddr.js";
import { parsedAddress } from "./parsed_address.ts";

const TEXTS: readonly string[] = [
  ...["10.0.0.1", "0.0.0.0", "255.255.255.255", "1.22.133.244", "127.0.0.1"],
  ...["010.0.0.1", "10.0.0.08", "10.1", "0x7f000001", "0x7f.1", "2130706433", "256.0.0.1", "1.2.3"],
  ...[
    "1.2.3.4 ",
    " 1.2.3.4",
    "1.2.3.4\n",
    "1.2.3.4.",
    "1.2.3.4/8",
    "1..3.4",
    "１.2.3.4",
    "+1.2.3.4",
  ],
  ...["::", "::1", "2001:db8::1", "fe80::1%eth0", "::ffff:10.0.0.1", "::ffff:a00:1", "::10.0.0.1"],
  ...["::ffff:010.0.0.1", "[::1]", "", "app.example.com", "1.2.3.4%eth0"],
];

Deno.test("addresses are read as ipaddr.js reads them", () => {
  const read = (parse: (text: string) => ipaddr.IPv4 | ipaddr.IPv6, text: string) => {
    try {
      const address = parse(text);
      return [address.kind(), address.toByteArray(), address.toString(), address.range()];
    } catch {
      return "no address";
    }
  };
  for (const text of TEXTS) {
    assert.deepEqual(
      read(parsedAddress, text),
      read((one) => ipaddr.process(one), text),
      JSON.stringify(text),
    );
  }
});
