/**
 * Our HTTPS listener as strangers' programs see it. In: sslyze, testssl.sh and OpenSSL's client. Out:
 * Mozilla's intermediate profile holds, nothing is vulnerable, and versions, names, resumption and
 * rotation are what OpenSSL makes of them, too.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { authority, certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const LEAF = await certificateFor("local", { names: ["localhost"] });
const RSA = await certificateFor("rsa", { names: ["rsa.test"], key: "rsa" });
const WILDCARD = await certificateFor("wildcard", { names: ["*.wild.test"] });

/** The one that has sslyze. */
const PYTHON = Deno.env.get("SSLYZE_PYTHON") ?? "python3";

/** How long a scan may take, in ms. */
const PATIENCE = 300_000;

Deno.test("sslyze finds Mozilla's intermediate profile, with both key types", async (t) => {
  if (await run(PYTHON, ["-c", "import sslyze"]) === null) {
    console.log(
      "skipped: sslyze: it is not installed (remedy: pip install sslyze==6.3.1, or " +
        "SSLYZE_PYTHON=PATH of a python3 that has it)",
    );
    return;
  }
  await inFolder(async (folder) => {
    const ca = join(folder, "ca.pem");
    await Deno.writeTextFile(ca, authority.certificate);
    for (const certificate of [LEAF, { ...RSA, ...await rsaForLocalhost() }]) {
      await t.step(certificate.id, async () => {
        using proxy = await TlsProxy.start({
          certificates: [certificate],
          defaultCertificate: certificate.id,
        });
        const told = await run(PYTHON, [
          "-m",
          "sslyze",
          "--mozilla_config=intermediate",
          `--certinfo_ca_file=${ca}`,
          `localhost:${proxy.port}`,
        ]);
        assert.match(told ?? "", new RegExp(`localhost:${proxy.port}: OK - Compliant`));
        // It is no part of the profile: data that anybody could send again.
        const early = await run(PYTHON, [
          "-m",
          "sslyze",
          "--early_data",
          `localhost:${proxy.port}`,
        ]);
        assert.match(early ?? "", /TLS 1\.3 Early Data:\s+Not Supported/);
      });
    }
  });
});

Deno.test("testssl.sh finds no vulnerability", async () => {
  const program = await findTestssl();
  if (program === null) {
    console.log("skipped: testssl.sh: it is not installed (remedy: apt-get install testssl.sh)");
    return;
  }
  using proxy = await TlsProxy.start({ certificates: [LEAF], defaultCertificate: LEAF.id });
  await inFolder(async (folder) => {
    const file = join(folder, "findings.json");
    // Protocols, kinds of cipher, forward secrecy and every vulnerability it knows. Not its opinion
    // on the order of ciphers: clients choose, as in Mozilla's profile, for they know what they do
    // fast. Nor on the certificate, which is the user's.
    const scans = ["--protocols", "--std", "--fs", "--vulnerable"];
    const fixed = ["--quiet", "--color", "0", "--warnings", "batch", "--ip", "127.0.0.1"];
    // Where OpenSSL has no engine for GOST it would warn of itself among the findings.
    const env = { NO_ENGINE: "true" };
    const args = [...fixed, ...scans, "--jsonfile", file, `localhost:${proxy.port}`];
    await run(program, args, "", false, env);
    const findings: Finding[] = JSON.parse(await Deno.readTextFile(file));
    const known = new Set(findings.map(({ id }) => id));
    for (
      const id of ["heartbleed", "ROBOT", "BREACH", "LUCKY13", "TLS1_3", "SSLv3", "cipherlist_NULL"]
    ) {
      assert.ok(known.has(id), `${id} was looked for`);
    }
    const faults = findings
      .filter(({ severity }) => !["OK", "INFO"].includes(severity))
      .map(({ id, severity, finding }) => `${severity} ${id}: ${finding}`);
    assert.deepEqual(faults, []);
  });
});

Deno.test("OpenSSL sees names, versions, resumption and rotation", async (t) => {
  if (await run("openssl", ["version"]) === null) {
    console.log("skipped: OpenSSL: it is not installed (remedy: apt-get install openssl)");
    return;
  }
  using proxy = await TlsProxy.start({
    certificates: [LEAF, RSA, WILDCARD],
    defaultCertificate: LEAF.id,
  });

  await t.step("a certificate for each name", async () => {
    const names = [
      ["rsa.test", "rsa.test"],
      ["RSA.test", "rsa.test"],
      ["a.wild.test", "*.wild.test"],
      ["a.b.wild.test", "localhost"],
      ["unknown.test", "localhost"],
      ["", "localhost"],
    ];
    for (const [asked, shown] of names) {
      const { certificate } = await openssl(proxy.port, asked, []);
      assert.equal(certificate?.subjectAltName, `DNS:${shown}`, asked);
    }
  });

  await t.step("TLS 1.2 and 1.3, nothing older", async () => {
    for (const version of ["1_2", "1_3"]) {
      const { text } = await openssl(proxy.port, "rsa.test", [`-tls${version}`]);
      assert.match(text, new RegExp(`New, TLSv${version.replace("_", ".")}, Cipher is `));
      assert.match(text, /Verify return code: 0 \(ok\)/);
      assert.match(text, /^HTTP\/1\.1 503 /m);
    }
    const { text } = await openssl(proxy.port, "rsa.test", [
      "-tls1_1",
      "-cipher",
      "ALL@SECLEVEL=0",
    ]);
    assert.match(text, /Cipher is \(NONE\)/);
  });

  await t.step("a session is resumed with a ticket", async () => {
    for (const version of ["-tls1_2", "-tls1_3"]) {
      await inFolder(async (folder) => {
        const session = join(folder, "session");
        await openssl(proxy.port, "rsa.test", [version, "-sess_out", session]);
        const { text } = await openssl(proxy.port, "rsa.test", [version, "-sess_in", session]);
        assert.match(text, /^Reused, TLSv1\.[23]/m, version);
      });
    }
  });

  await t.step("the next handshake uses a rotated certificate", async () => {
    const before = await openssl(proxy.port, "rsa.test", []);
    const rotated = await certificateFor("rsa 2", { names: ["rsa.test"], key: "rsa" });
    proxy.apply([LEAF, rotated, WILDCARD], LEAF.id);
    const after = await openssl(proxy.port, "rsa.test", []);
    assert.equal(after.certificate?.subjectAltName, "DNS:rsa.test");
    assert.notEqual(after.certificate?.serialNumber, before.certificate?.serialNumber);
    assert.match(after.text, /Verify return code: 0 \(ok\)/);
  });
});

interface Finding {
  readonly id: string;
  readonly severity: string;
  readonly finding: string;
}

async function rsaForLocalhost() {
  return await certificateFor("rsa", { names: ["localhost"], key: "rsa" });
}

/** One request by OpenSSL's client: what it prints, and the certificate that it was shown. */
async function openssl(port: number, name: string, args: readonly string[]) {
  const folder = await Deno.makeTempDir({ prefix: "openssl-" });
  const ca = join(folder, "ca.pem");
  await Deno.writeTextFile(ca, authority.certificate);
  const sni = name === "" ? ["-noservername"] : ["-servername", name];
  const target = ["-connect", `127.0.0.1:${port}`, "-CAfile", ca, "-ign_eof"];
  const request = `GET / HTTP/1.1\r\nHost: ${name || "localhost"}\r\nConnection: close\r\n\r\n`;
  const text = await run("openssl", ["s_client", ...target, ...sni, ...args], request, true) ?? "";
  await Deno.remove(folder, { recursive: true });
  const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(text)?.[0];
  return { text, certificate: pem === undefined ? null : new X509Certificate(pem) };
}

/** The first that is there: Debian's name is without the ending. */
async function findTestssl(): Promise<string | null> {
  for (const program of ["testssl", "testssl.sh"]) {
    if (await run(program, ["--help"], "", true) !== null) return program;
  }
  return null;
}

/** What the program prints; null where it is not there, or (unless `mayFail`) fails. */
async function run(
  program: string,
  args: readonly string[],
  input = "",
  mayFail = false,
  env: Readonly<Record<string, string>> = {},
): Promise<string | null> {
  try {
    const child = new Deno.Command(program, {
      args: [...args],
      env,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(PATIENCE),
    }).spawn();
    const writer = child.stdin.getWriter();
    // One that ends without reading is judged by what it printed.
    await writer.write(new TextEncoder().encode(input)).catch(() => {});
    await writer.close().catch(() => {});
    const { code, stdout, stderr } = await child.output();
    const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    return code === 0 || mayFail ? text : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "tls-scan-" });
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
