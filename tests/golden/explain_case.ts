/**
 * The golden cases of explain. In: `explain/folder`. Out: what is printed of it, at several widths. Files are named as from the root of the repository.
 */
import { explanationText } from "../../cli/explain/explanation_text.ts";
import { shortText } from "../../cli/explain/short_text.ts";
import { styleOf } from "../../cli/terminal/style.ts";
import { explained } from "../support/explained.ts";

const PLAIN = styleOf(false);

/** Of a terminal: small, usual, wide. */
const WIDTHS = [40, 80, 120] as const;

/** Explained in this order. */
const URLS = [
  "https://app.example.com/p07/x?y=1",
  "http://app.example.com/p50",
  "https://app.example.com/admin",
  "http://old.example.com/x",
  "http://broken.example.com/",
  "http://nobody.example.com/",
  "http://app.example.com/%zz",
  "http://app.example.com/\u001b[31m",
  "http://api.gateway.example.com/x",
];

function textsOf(folder: string): Record<string, string> {
  const url = new URL(`${folder}/`, import.meta.url);
  const names = Array.from(Deno.readDirSync(url), ({ name }) => name).sort();
  return Object.fromEntries(
    names.map((
      name,
    ) => [`tests/golden/${folder}/${name}`, Deno.readTextFileSync(new URL(name, url))]),
  );
}

/** The expected text by its file. */
export function explainOutputs(): readonly (readonly [file: URL, text: string])[] {
  const tls = "examples/5-tls.yaml";
  const files = {
    ...textsOf("explain/folder"),
    [tls]: Deno.readTextFileSync(new URL(`../../${tls}`, import.meta.url)),
  };
  const explanations = URLS.map((url) => explained(url, files).explanation);
  const text = (columns: number, showsAll: boolean) =>
    explanations.map((each) => explanationText(each, { columns, style: PLAIN, showsAll }))
      .join("\n\n\n");
  return [
    ...WIDTHS.map((columns) =>
      [fileOf(`explain/text-${columns}`), `${text(columns, false)}\n`] as const
    ),
    [fileOf("explain/all"), `${text(80, true)}\n`] as const,
    [
      fileOf("explain/short"),
      explanations.map((each) => `${shortText(each, PLAIN)}\n`).join(""),
    ] as const,
    [fileOf("explain/json"), `${JSON.stringify({ v: 1, explanations }, null, 2)}\n`] as const,
  ];
}

function fileOf(name: string): URL {
  return new URL(`${name}.out`, import.meta.url);
}
