import assert from "node:assert/strict";
import { Redacted } from "../../shared/redacted.ts";
import type { LoadedCertificate } from "./fallback.ts";
import { CertificateFallback, type CertificateUse, consequence } from "./fallback.ts";

function loaded(id: string, hosts: readonly string[], isDefault = false): LoadedCertificate {
  const key = new Redacted("");
  const name = `test/${id}`;
  return { id: `${id} ${"0".repeat(64)}`, hosts, chain: id, key, name, isDefault, validTo: 0 };
}

function lastGood(): CertificateFallback {
  const good = new CertificateFallback();
  good.take("web", [loaded("web", ["a.test", "b.test"])]);
  good.take("default", [loaded("default", [], true)]);
  good.take("client", [loaded("client", [])]);
  return good;
}

Deno.test("the last good certificate stays for its former uses, and the log says for which", () => {
  const cases: readonly [string, Partial<CertificateUse>, string, string][] = [
    ["web", { hosts: ["a.test", "b.test"] }, "web a.test,b.test", "stays for its hosts"],
    ["new", { hosts: ["b.test"] }, "web b.test", "stays for its hosts"],
    [
      "web",
      { hosts: ["a.test", "c.test"] },
      "web a.test",
      "stays for hosts that had one; hosts without a certificate of their own: 1",
    ],
    ["new", { hosts: ["c.test"] }, "", "hosts without a certificate of their own: 1"],
    ["default", { isDefault: true }, "default  default", "stays as the default"],
    ["new", { isDefault: true }, "default  default", "stays as the default"],
    [
      "web",
      { hosts: ["a.test"], isDefault: true, isShown: true },
      "web a.test default",
      "stays for its hosts and as the default and for backends",
    ],
    ["client", { isShown: true }, "client ", "stays for backends"],
    // Backends are shown nothing but what is meant for them.
    ["new", { isShown: true }, "", "requests to the backends that it is for get 502"],
    ["client", { isListened: true }, "client ", "stays for listeners of Gateways"],
    ["new", { isListened: true }, "", "listeners without another certificate refuse handshakes"],
    ["new", {}, "", "nothing used it"],
  ];
  for (const [id, some, expected, said] of cases) {
    const use = { hosts: [], isDefault: false, isShown: false, isListened: false, ...some };
    const kept = lastGood().find(id, use);
    const shown = kept.map(({ chain, hosts, isDefault }) =>
      `${chain} ${hosts}${isDefault ? " default" : ""}`
    );
    assert.equal(shown.join("; "), expected, id);
    assert.equal(consequence(id, use, kept).replace("the last good one ", ""), said);
    // The snapshot finds the default by its id.
    if (use.isDefault) assert.ok(kept.some((good) => good.id.startsWith(`${id} `)));
  }
});

Deno.test("the last good certificate stays as long as its replacement is broken", () => {
  const use = { hosts: ["a.test"], isDefault: true, isShown: true, isListened: true };
  let before = lastGood();
  for (let load = 0; load < 3; load++) {
    const kept = before.find("web", use);
    assert.deepEqual(kept.map(({ chain }) => chain), ["web"]);
    before = new CertificateFallback();
    before.take("web", kept);
  }
});
