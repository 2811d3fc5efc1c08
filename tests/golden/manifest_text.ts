/**
 * Manifests of golden cases. In: YAML in which `!file NAME …` stands for the text of files in `certificates/`,
 * one after the other, and `!base64 NAME …` for the same in base64. Out: its documents.
 */
import { parseAllDocuments } from "yaml";

const CERTIFICATES = new URL("./certificates/", import.meta.url);

/** @param name Of the case, for errors. */
export function parseObjects(text: string, name: string): unknown[] {
  const documents = parseAllDocuments(text, { customTags: [fileTag, base64Tag] });
  if (!Array.isArray(documents)) throw new Error(`${name}.in.yaml is empty`);
  for (const { errors, warnings } of documents) {
    for (const error of [...errors, ...warnings]) throw error;
  }
  return documents.map((document) => document.toJS());
}

const fileTag = {
  tag: "!file",
  resolve: (names: string) => readCertificates(names),
};

const base64Tag = {
  tag: "!base64",
  resolve: (names: string) => btoa(readCertificates(names)),
};

function readCertificates(names: string): string {
  return names.split(" ")
    .map((name) => Deno.readTextFileSync(new URL(name, CERTIFICATES)))
    .join("");
}
