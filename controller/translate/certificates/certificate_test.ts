import assert from "node:assert/strict";
import { coversHost, readCertificate } from "./certificate.ts";
import { readSecret } from "./certificate_source.ts";
import { ObjectIndex } from "../../base/identity.ts";

const app = { "tls.crt": file("app.crt"), "tls.key": file("app.key") };

Deno.test("line endings and text around the blocks do not matter", () => {
  const plain = usable(app);
  const decorated = usable({
    "tls.crt": `Bag Attributes\n  name: app\n${app["tls.crt"].replaceAll("\n", "\r\n")}\nend`,
    "tls.key": `  ${app["tls.key"].replaceAll("\n", "  \n  ")}`,
  });
  assert.equal(decorated.fingerprint, plain.fingerprint);
  assert.equal(decorated.chain, plain.chain);
  assert.equal(decorated.key.reveal(), plain.key.reveal());
});

for (
  const [name, rewrite] of [
    ["short lines", (line: string) => line.replace(/.(?=.)/g, "$&\n")],
    ["empty lines", (line: string) => `\n\n${line}\n\n\n`],
  ] as const
) {
  Deno.test(`a certificate of ${name} is published with usual ones, as its length counts`, () => {
    const rewritten = (pem: string) =>
      pem.split("\n").map((line) => line.startsWith("-") ? line : rewrite(line)).join("\n");
    const plain = usable(app);
    const other = usable({
      "tls.crt": rewritten(app["tls.crt"]),
      "tls.key": rewritten(app["tls.key"]),
    });
    assert.equal(other.chain, plain.chain);
    assert.equal(other.key.reveal(), plain.key.reveal());
    assert.equal(other.fingerprint, plain.fingerprint);
  });
}

Deno.test("a certificate of longer lines stays as it is written", () => {
  const lines = app["tls.crt"].split("\n");
  const long = [lines[0], lines.slice(1, -2).join(""), ...lines.slice(-2)].join("\n");
  assert.equal(usable({ ...app, "tls.crt": long }).chain, long);
});

Deno.test("a key may be in one file with its certificate and its curve", () => {
  const parameters =
    "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
  const reading = usable({
    "tls.crt": `${app["tls.crt"]}${app["tls.key"]}`,
    "tls.key": `${parameters}${app["tls.key"]}${app["tls.crt"]}`,
  });
  assert.equal(reading.fingerprint, usable(app).fingerprint);
  assert.doesNotMatch(reading.chain, /KEY/);
});

Deno.test("invalid data is rejected with the field and a reason", () => {
  const cases: readonly [object, string, RegExp][] = [
    [{}, 'data["tls.crt"]', /has no tls\.crt/],
    [{ data: 5 }, "data", /number 5/],
    [{ data: { "tls.crt": 5 } }, 'data["tls.crt"]', /number 5/],
    [{ data: { "tls.crt": "YQ=" } }, 'data["tls.crt"]', /not base64/],
    [{ data: { "tls.crt": "YQ==", "tls.key": "YQ==" } }, 'data["tls.crt"]', /no certificate/],
    [strings({ "tls.crt": app["tls.crt"] }), 'data["tls.key"]', /has no tls\.key/],
    [strings({ ...app, "tls.key": app["tls.crt"] }), 'stringData["tls.key"]', /no private key/],
    [
      strings({ ...app, "tls.key": `${app["tls.key"]}${app["tls.key"]}` }),
      'stringData["tls.key"]',
      /several/,
    ],
    [
      strings({ ...app, "tls.key": app["tls.key"].replace("MIG", "AAA") }),
      'stringData["tls.key"]',
      /cannot be read/,
    ],
    [
      strings({ ...app, "tls.crt": app["tls.crt"].replace("MII", "AAA") }),
      'stringData["tls.crt"]',
      /certificate 1 of tls\.crt cannot be read/,
    ],
    [
      strings({
        ...app,
        "tls.key":
          "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nAA==\n-----END EC PRIVATE KEY-----",
      }),
      'stringData["tls.key"]',
      /passphrase/,
    ],
    [strings({ ...app, "tls.key": file("two.key") }), 'stringData["tls.key"]', /does not belong/],
  ];
  for (const [secret, field, message] of cases) {
    const reading = readCertificate(secret);
    assert.ok(!reading.ok, `${message}`);
    assert.equal(reading.field, field);
    assert.match(reading.message, message);
    assert.doesNotMatch(reading.message, /BEGIN/);
  }
});

Deno.test("a key that TLS cannot use is rejected, whatever its certificate is like", () => {
  const pair = (name: string) =>
    strings({
      "tls.crt": file(`${name}.crt`),
      "tls.key": file(`${name}.key`),
    });
  const cases = [
    ["rsa-1024", /the RSA key has 1024 bits, and TLS needs 2048 or more/],
    ["rsa-pss", /the key is of type rsa-pss, and TLS needs RSA, ECDSA or Ed25519/],
    ["ed448", /the key is of type ed448/],
    ["secp256k1", /the key has the curve secp256k1, and TLS needs P-256, P-384 or P-521/],
    ["ed25519", 0],
    ["rsa", 2048],
    ["rsa-5120", 5120],
  ] as const;
  for (const [name, expected] of cases) {
    const reading = readCertificate(pair(name));
    if (typeof expected === "number") {
      assert.equal(reading.ok && reading.certificate.rsaBits, expected, name);
    } else {
      assert.ok(!reading.ok, name);
      assert.equal(reading.field, 'stringData["tls.key"]');
      assert.match(reading.message, expected);
    }
  }
});

Deno.test("stringData overrides data, as in the API server", () => {
  const reading = readCertificate({
    data: { "tls.crt": "%%%", "tls.key": btoa(app["tls.key"]) },
    stringData: { "tls.crt": app["tls.crt"] },
  });
  assert.ok(reading.ok);
  assert.equal(reading.certificate.field, 'stringData["tls.crt"]');
});

Deno.test("a Secret is parsed once while it is in memory", () => {
  const secret = () => ({ metadata: { name: "app" }, ...strings(app) });
  const secrets = new ObjectIndex(readSecret);
  const readingOf = (object: object) => secrets.model(object)?.reading;
  const same = secret();
  assert.ok(readingOf(same)?.ok);
  assert.equal(readingOf(same), readingOf(same));
  assert.notEqual(readingOf(same), readingOf(secret()));
});

Deno.test("a certificate's names cover hosts as in clients", () => {
  const cases: readonly [string[], string, boolean][] = [
    [["app.example.com"], "app.example.com", true],
    [["app.example.com"], "www.example.com", false],
    [["*.example.com"], "app.example.com", true],
    [["*.example.com"], "*.example.com", true],
    [["*.example.com"], "a.b.example.com", false],
    [["*.example.com"], "example.com", false],
    [["app.example.com"], "*.example.com", false],
    [["*.example.com"], "*.b.example.com", false],
    [[], "app.example.com", false],
  ];
  for (const [names, host, covered] of cases) {
    assert.equal(coversHost(new Set(names), host), covered, `${names} ${host}`);
  }
});

function usable(values: Readonly<Record<string, string>>) {
  const reading = readCertificate(strings(values));
  assert.ok(reading.ok, reading.ok ? "" : reading.message);
  return reading.certificate;
}

function strings(stringData: Readonly<Record<string, string>>): object {
  return { stringData };
}

function file(name: string): string {
  const url = new URL(`../../../tests/golden/certificates/${name}`, import.meta.url);
  return Deno.readTextFileSync(url);
}
