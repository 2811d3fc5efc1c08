/**
 * Transcripts: conversations between a client, the proxy and a backend, written in Markdown. In: a
 * file of `http1/`. Out: its cases, each ready to be replayed. `README.md` beside this file tells
 * how one is written; a file that breaks its rules throws, with the case's name.
 */
import { type MessageKind, MessageReader, type WireMessage } from "../support/wire_message.ts";
import type { ReplyStep } from "../support/wire_peer.ts";
import { answerTexts, bytesOf, readParts } from "./notation.ts";

export interface Transcript {
  readonly title: string;
  readonly headings: readonly Heading[];
}

/** All cases under one heading: one, or as many as its table has rows. */
export interface Heading {
  readonly name: string;
  readonly cases: readonly Case[];
}

/** One step of the client: bytes, FIN, or the wait for one more message than at the wait before. */
export type ClientStep = { readonly bytes: string } | "FIN" | "wait";

export interface ExpectedAnswer {
  readonly kind: MessageKind;
  /** The texts that it may be, as messages. */
  readonly alternatives: readonly WireMessage[];
  /** Broken off: any beginning of it that is not the whole, or no answer at all. */
  readonly cut: boolean;
  /** Or, where nothing of it had been sent, our own 502 whole. */
  readonly instead: readonly WireMessage[];
}

export interface ExpectedRequest {
  readonly message: WireMessage;
  /** Broken off: any beginning of it that is not the whole, or no request at all. */
  readonly cut: boolean;
}

export interface Case {
  /** The table's row, or "" where there is no table. */
  readonly name: string;
  /** The proxy's settings, as JSON; `replay.ts` knows what may stand there. */
  readonly settings: string;
  readonly client: readonly ClientStep[];
  /** The file has no client block here: a plain GET. */
  readonly isPlainClient: boolean;
  readonly answers: readonly ExpectedAnswer[];
  readonly ending: "closes" | "stays";
  readonly requests: readonly ExpectedRequest[];
  /** What the backend says to each request; null for its plain answer. */
  readonly replies: readonly (readonly ReplyStep[])[] | null;
}

interface Block {
  readonly role: string;
  readonly words: readonly string[];
  readonly text: string;
}

/** Reads a transcript file. */
export async function readTranscript(markdown: string): Promise<Transcript> {
  const [preamble, ...sections] = markdown.split(/^## /m);
  const title = /^# (.+)$/m.exec(preamble)?.[1];
  if (title === undefined) throw new Error("Cannot read transcript: it has no title");
  if (/^```/m.test(preamble)) throw new Error(`Cannot read "${title}": a block before any heading`);
  const headings: Heading[] = [];
  for (const section of sections) {
    const name = section.slice(0, section.indexOf("\n")).trim();
    try {
      headings.push({ name, cases: await readCases(section.slice(section.indexOf("\n") + 1)) });
    } catch (error) {
      throw new Error(`Cannot read "${title}: ${name}"`, { cause: error });
    }
  }
  const names = headings.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Cannot read "${title}": "${twice}" stands there twice`);
  return { title, headings };
}

async function readCases(section: string): Promise<Case[]> {
  const blocks: Block[] = [];
  const rest = section.replace(
    /^```([a-z]+)([^\n]*)\n([^]*?)^```$/gm,
    (_, role: string, words: string, text: string) => {
      blocks.push({ role, words: words.split(/[\s,]+/).filter((word) => word !== ""), text });
      return "";
    },
  );
  if (rest.includes("```")) throw new Error("a block without an end");
  const settings = /<!-- proxy=(\{.*\}) -->/.exec(rest)?.[1] ?? "{}";
  const rows = readTable(rest);
  if (rows === null) return [await readCase("", settings, blocks)];
  const cases: Case[] = [];
  for (const row of rows) {
    const filled = blocks.map((block) => ({ ...block, text: fill(block.text, row) }));
    cases.push(await readCase([...row.values()].join(" | "), fill(settings, row), filled));
  }
  return cases;
}

/** A table's rows, by column; null where there is no table. */
function readTable(text: string): Map<string, string>[] | null {
  const lines = text.split("\n").filter((line) => line.startsWith("|"));
  if (lines.length === 0) return null;
  const [header, rule, ...rows] = lines.map((line) =>
    line.slice(1).replace(/\|\s*$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim())
  );
  if (rows.length === 0 || !rule.every((cell) => /^:?-+:?$/.test(cell))) {
    throw new Error("a table without rows");
  }
  return rows.map((row) => {
    if (row.length !== header.length) throw new Error(`a row of ${row.length} cells: ${row}`);
    return new Map(header.map((column, index) => {
      const cell = row[index].replaceAll("\\|", "|");
      return [column, /^`[^]*`$/.test(cell) ? cell.replace(/^(`+)([^]*)\1$/, "$2") : cell];
    }));
  });
}

/** Puts a row's cells in place of `<column>`. */
function fill(text: string, row: ReadonlyMap<string, string>): string {
  for (const [column, cell] of row) text = text.replaceAll(`<${column}>`, () => cell);
  return text;
}

async function readCase(name: string, settings: string, blocks: Block[]): Promise<Case> {
  const of = (role: string) => blocks.filter((block) => block.role === role);
  const unknown = blocks.find(({ role }) => !ROLES.includes(role));
  if (unknown !== undefined) throw new Error(`a block of "${unknown.role}"`);
  const [clients, answers, requests, replies] = ROLES.map(of);
  const isPlainClient = clients.length === 0 && requests.length === 0;
  if (isPlainClient) {
    clients.push({ role: "client", words: [], text: PLAIN_CLIENT });
    requests.push({ role: "backend", words: [], text: PLAIN_REQUEST });
  }
  if (clients.length !== 1) throw new Error("one client block is wanted");
  if (answers.length === 0) throw new Error("no answer block");
  if (requests.length === 0) throw new Error("no backend block");
  const ends = answers.map(({ words }) =>
    words.filter((word) => word === "closes" || word === "stays")
  );
  const last = ends.pop()!;
  if (last.length !== 1 || ends.some((words) => words.length > 0)) {
    throw new Error("the last answer, and no other, says `closes` or `stays`");
  }
  const ending = last[0] as "closes" | "stays";
  const expected: ExpectedAnswer[] = [];
  for (const [index, block] of answers.entries()) {
    if (isNothing(block)) continue;
    const toHead = block.words.includes("HEAD");
    const closes = ending === "closes" && index === answers.length - 1;
    const kind = toHead ? "response to HEAD" : "response";
    const alternatives: WireMessage[] = [];
    for (const text of answerTexts(block.text, closes, toHead)) {
      alternatives.push(await readWhole(text, kind));
    }
    const instead: WireMessage[] = [];
    if (block.words.includes("502")) {
      for (const text of answerTexts("<502>", closes, toHead)) {
        instead.push(await readWhole(text, kind));
      }
    }
    expected.push({ kind, alternatives, cut: block.words.includes("cut"), instead });
  }
  const seen: ExpectedRequest[] = [];
  for (const block of requests) {
    if (isNothing(block)) continue;
    const message = await readWhole(bytesOf(block.text), "request");
    seen.push({ message, cut: block.words.includes("cut") });
  }
  return {
    name,
    settings,
    client: clientSteps(clients[0].text),
    isPlainClient,
    answers: expected,
    ending,
    requests: seen,
    replies: replies.length === 0 ? null : replies.map(({ text }) => replySteps(text)),
  };
}

/** The client of a case that tells of a backend alone, and what the backend sees of it. */
const PLAIN_CLIENT = "GET / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n";
const PLAIN_REQUEST = "GET / HTTP/1.1\\r\\nHost: a.test\\r\\n<forwarded a.test>\\r\\n";

const ROLES = ["client", "answer", "backend", "reply"];

function isNothing(block: Block): boolean {
  return block.text.trim() === "nothing";
}

/** The message that a block stands for; nothing may be left over. */
async function readWhole(text: string, kind: MessageKind): Promise<WireMessage> {
  const reader = MessageReader.of(text);
  const message = await reader.message(kind);
  if (message === null || message.fault !== "") throw new Error(`no message: ${message?.fault}`);
  if (!message.complete) throw new Error("a message that is not whole");
  if (reader.rest !== "") throw new Error(`more than a message: ${reader.rest}`);
  return message;
}

function clientSteps(block: string): ClientStep[] {
  return readParts(block).map((part) => {
    if ("bytes" in part) return part;
    if (part.marker === "FIN" || part.marker === "wait") return part.marker;
    throw new Error(`no such marker for a client: <${part.marker}>`);
  });
}

/** Without `<body>` a reply waits for the whole request. */
function replySteps(block: string): ReplyStep[] {
  const steps = readParts(block).map((part): ReplyStep => {
    if ("bytes" in part) return part;
    const { marker } = part;
    if (marker === "body" || marker === "FIN" || marker === "close" || marker === "forever") {
      return marker;
    }
    throw new Error(`no such marker for a backend: <${marker}>`);
  });
  return steps.includes("body") ? steps : ["body", ...steps];
}
