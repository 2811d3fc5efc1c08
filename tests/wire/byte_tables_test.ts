/**
 * Every byte in every place of a head: 256 cases each, too many to be written down. What a byte gets
 * is told by the RFC's own grammar, as a regular expression. Cut before and behind the byte.
 */
import { replayTranscript } from "./replay_all.ts";
import type { Case } from "./transcript.ts";

/** RFC 9110 §5.6.2. */
const TCHAR = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/;
/** RFC 9110 §5.5: visible, blank, HTAB, obs-text. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]$/;

interface ByteTable {
  readonly name: string;
  /** Which of the blocks has the byte, in its place `<byte>`. */
  readonly client?: string;
  readonly reply?: string;
  readonly accepts: (char: string) => boolean;
  /** The blocks of what is accepted, and of what is refused. */
  readonly accepted: string;
  readonly refused: string;
  /** Bytes with a case of their own elsewhere. */
  readonly except?: string;
}

const FORWARDED = "<forwarded a.test>\n\\r\\n\n";
const REFUSED = "```backend\nnothing\n```\n```answer closes\n<400>\n```\n";
const BAD_ANSWER = "```answer stays\n<502 upstream_malformed>\n```\n";
const OK = "```answer stays\n<ok>\n```\n";

function backend(request: string): string {
  return "```backend\n" + request + "```\n";
}

const TABLES: readonly ByteTable[] = [
  {
    name: "a byte in a field's name",
    client: "GET / HTTP/1.1\\r\\nHost: a.test\\r\\nX<byte>Y: z\\r\\n\\r\\n",
    accepts: (char) => TCHAR.test(char),
    accepted: backend(`GET / HTTP/1.1\\r\\nHost: a.test\\r\\nX<byte>Y: z\\r\\n${FORWARDED}`) + OK,
    refused: REFUSED,
    // A colon ends the name; the underscore's field is dropped.
    except: ":_",
  },
  {
    name: "a byte in front of a field's name",
    client: "GET / HTTP/1.1\\r\\nHost: a.test\\r\\n<byte>X: z\\r\\n\\r\\n",
    accepts: (char) => TCHAR.test(char),
    accepted: backend(`GET / HTTP/1.1\\r\\nHost: a.test\\r\\n<byte>X: z\\r\\n${FORWARDED}`) + OK,
    refused: REFUSED,
    except: "_",
  },
  {
    name: "a byte between a field's name and its colon",
    client: "GET / HTTP/1.1\\r\\nHost: a.test\\r\\nX<byte>: z\\r\\n\\r\\n",
    accepts: (char) => TCHAR.test(char),
    accepted: backend(`GET / HTTP/1.1\\r\\nHost: a.test\\r\\nX<byte>: z\\r\\n${FORWARDED}`) + OK,
    refused: REFUSED,
    except: ":_",
  },
  {
    name: "a byte in a field's value",
    client: "GET / HTTP/1.1\\r\\nHost: a.test\\r\\nX: y<byte>z\\r\\n\\r\\n",
    accepts: (char) => VALUE.test(char),
    accepted: backend(`GET / HTTP/1.1\\r\\nHost: a.test\\r\\nX: y<byte>z\\r\\n${FORWARDED}`) + OK,
    refused: REFUSED,
  },
  {
    name: "a byte in the method",
    client: "G<byte>T / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n",
    accepts: (char) => TCHAR.test(char) && !/[a-z]/.test(char),
    accepted: backend(`G<byte>T / HTTP/1.1\\r\\nHost: a.test\\r\\n${FORWARDED}`) + OK,
    refused: REFUSED,
  },
  {
    name: "a byte in the path",
    client: "GET /x<byte>y HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n",
    accepts: (char) => /^[\x21-\x7e]$/.test(char) && !"#%\\".includes(char),
    accepted: backend(`GET /x<byte>y HTTP/1.1\\r\\nHost: a.test\\r\\n${FORWARDED}`) + OK,
    refused: REFUSED,
  },
  {
    name: "a byte in the query",
    client: "GET /?x<byte>y HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n",
    accepts: (char) => /^[\x21-\x7e]$/.test(char) && char !== "#",
    accepted: backend(`GET /?x<byte>y HTTP/1.1\\r\\nHost: a.test\\r\\n${FORWARDED}`) + OK,
    refused: REFUSED,
  },
  {
    name: "a byte in the host",
    client: "GET / HTTP/1.1\\r\\nHost: a<byte>b\\r\\n\\r\\n",
    accepts: (char) => /^[0-9A-Za-z._-]$/.test(char),
    accepted: backend(
      "GET / HTTP/1.1\\r\\nHost: a<byte>b\\r\\n<forwarded a<byte>b>\n\\r\\n\n",
    ) + OK,
    refused: REFUSED,
  },
  {
    name: "a byte in the name of a backend's field",
    reply: "HTTP/1.1 200 OK\\r\\nX<byte>Y: z\\r\\nContent-Length: 2\\r\\n\\r\\nok",
    accepts: (char) => TCHAR.test(char),
    accepted: "```answer stays\nHTTP/1.1 200 OK\\r\\nX<byte>Y: z\\r\\nServer: pingress\\r\\n" +
      "Date: <date>\\r\\nContent-Length: 2\\r\\n\\r\\nok\n```\n",
    refused: BAD_ANSWER,
    except: ":",
  },
  {
    name: "a byte in the value of a backend's field",
    reply: "HTTP/1.1 200 OK\\r\\nX: y<byte>z\\r\\nContent-Length: 2\\r\\n\\r\\nok",
    accepts: (char) => VALUE.test(char),
    accepted: "```answer stays\nHTTP/1.1 200 OK\\r\\nX: y<byte>z\\r\\nServer: pingress\\r\\n" +
      "Date: <date>\\r\\nContent-Length: 2\\r\\n\\r\\nok\n```\n",
    refused: BAD_ANSWER,
  },
  {
    name: "a byte in the reason",
    reply: "HTTP/1.1 200 a<byte>b\\r\\nContent-Length: 2\\r\\n\\r\\nok",
    accepts: (char) => VALUE.test(char),
    accepted: "```answer stays\nHTTP/1.1 200 a<byte>b\\r\\nServer: pingress\\r\\n" +
      "Date: <date>\\r\\nContent-Length: 2\\r\\n\\r\\nok\n```\n",
    refused: BAD_ANSWER,
  },
];

for (const table of TABLES) {
  Deno.test(`wire: each byte has one outcome: ${table.name}`, async (t) => {
    const place = (table.client ?? table.reply)!.replaceAll(/\\[rn]/g, "!").indexOf("<byte>");
    await replayTranscript(t, transcriptOf(table), ({ isPlainClient }: Case) => {
      const cuts = [place, place + 1];
      return cuts.map((at) => isPlainClient ? { client: 0, reply: at } : { client: at, reply: 0 });
    });
  });
}

/** The table as a transcript: one heading for what is accepted, one for what is refused. */
function transcriptOf(table: ByteTable): string {
  const bytes = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) =>
    !table.except?.includes(String.fromCharCode(byte))
  );
  const blocks = (table.client === undefined ? "" : "```client\n" + table.client + "\n```\n") +
    (table.reply === undefined ? "" : "```reply\n" + table.reply + "\n```\n");
  const rows = (wanted: boolean) =>
    bytes.filter((byte) => table.accepts(String.fromCharCode(byte)) === wanted)
      .map((byte) => `| \`\\x${byte.toString(16).padStart(2, "0")}\` |\n`).join("");
  const heading = (name: string, wanted: boolean, expected: string) =>
    `## ${name}\n${blocks}${expected}\n| byte |\n| --- |\n${rows(wanted)}\n`;
  return `# ${table.name}\n\n` + heading("goes on as it is", true, table.accepted) +
    heading("is refused", false, table.refused);
}
