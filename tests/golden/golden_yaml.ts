/**
 * YAML of golden cases. In: manifests in which `!file NAME …` stands for the text of files in `certificates/`,
 * one after the other, and `!base64 NAME …` for the same in base64; `NAME*20` is a file twenty times. Out: their
 * documents; and the form of outputs.
 */
import { type Document, isMap, isScalar, isSeq, parseAllDocuments, visit } from "yaml";

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
    .map((written) => {
      const [name, times = "1"] = written.split("*");
      return Deno.readTextFileSync(new URL(name, CERTIFICATES)).repeat(Number(times));
    })
    .join("");
}

/** Puts maps and lists of at most `items` scalars, each of at most `length` characters, on one line. */
export function shortenSmallMaps(
  document: Document,
  { items, length }: { readonly items: number; readonly length: number },
): void {
  visit(document, {
    Collection(_key, node) {
      const values = isMap(node) ? node.items.map(({ value }) => value) : node.items;
      const isSmall = values.length <= items &&
        values.every((value) => isScalar(value) && String(value.value).length <= length);
      if ((isMap(node) || isSeq(node)) && isSmall) node.flow = true;
    },
  });
}

/** Names of files without that ending, sorted. */
export function namesEndingIn(folder: URL, ending: string): string[] {
  return [...Deno.readDirSync(folder)]
    .filter(({ name }) => name.endsWith(ending))
    .map(({ name }) => name.slice(0, -ending.length))
    .sort();
}
