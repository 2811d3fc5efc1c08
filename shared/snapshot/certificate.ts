/**
 * Reading certificates. In: one element of a snapshot's `certificates`, not yet trusted. Out: the
 * certificate with its key out of sight. Whether the PEM is any good is for TLS to say.
 */
import type { ConfigCheck } from "./config_check.ts";
import { Redacted } from "../redacted.ts";
import type { Certificate, PemFile, PemSecret, PemText } from "./types.ts";
import { readHost, readOrigin } from "./route.ts";

export function readCertificate(
  value: unknown,
  path: string,
  ids: Set<string>,
  check: ConfigCheck,
): Certificate | null {
  const certificate = check.object(value, path, [
    "id",
    "hosts",
    "plain",
    "chain",
    "key",
    "origin",
  ]);
  if (certificate === null) return null;
  const id = check.id(certificate.id, `${path}.id`, ids);
  const hosts = check.array(
    certificate.hosts,
    `${path}.hosts`,
    "refused",
    (value, place) => readCertificateHost(value, place, check),
  );
  const plain = check.array(
    certificate.plain,
    `${path}.plain`,
    "empty",
    (value, place) => readCertificateHost(value, place, check),
  );
  const chain = readPem(certificate.chain, `${path}.chain`, "pem", check);
  const key = readPem(certificate.key, `${path}.key`, "secret", check);
  const origin = readOrigin(certificate.origin, path, check);
  if (id === null || chain === null || key === null || origin === null) return null;
  return { id, hosts, ...(plain.length === 0 ? {} : { plain }), chain, key, origin };
}

function readCertificateHost(value: unknown, path: string, check: ConfigCheck): string | null {
  if (value !== "*") return readHost(value, path, check);
  const remedy = "write its id into $.defaultCertificate instead";
  return check.refuse(path, "a certificate is not for any host", remedy);
}

/** Certificates that stand in the snapshot itself. */
export function readPemText(value: unknown, path: string, check: ConfigCheck): PemText | null {
  const source = check.object(value, path, ["kind", "pem"]);
  if (source === null) return null;
  const kind = check.oneOf(source.kind, `${path}.kind`, ["pem"]);
  const pem = check.name(source.pem, `${path}.pem`);
  return kind === null || pem === null ? null : { kind, pem };
}

function readPem(
  value: unknown,
  path: string,
  kind: "pem",
  check: ConfigCheck,
): PemText | PemFile | null;
function readPem(
  value: unknown,
  path: string,
  kind: "secret",
  check: ConfigCheck,
): PemSecret | PemFile | null;
function readPem(
  value: unknown,
  path: string,
  inline: "pem" | "secret",
  check: ConfigCheck,
): PemText | PemSecret | PemFile | null {
  const source = check.object(value, path, ["kind", "pem", "path"]);
  if (source === null) return null;
  const kind = check.oneOf(source.kind, `${path}.kind`, [inline, "file"]);
  if (kind === "file") {
    const file = check.name(source.path, `${path}.path`);
    return file === null ? null : { kind, path: file };
  }
  if (kind === null) return null;
  const text = check.name(source.pem, `${path}.pem`);
  if (text === null) return null;
  if (inline === "pem") return { kind: "pem", pem: text };
  const pem = new Redacted(text);
  if (text !== pem.toJSON()) return { kind: "secret", pem };
  return check.refuse(
    `${path}.pem`,
    "the key was left out when the file was written",
    "write the file with its keys",
  );
}
