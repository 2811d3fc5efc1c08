/**
 * Lines of the access log in the format `combined` of nginx. In: exchanges that have ended. Out: a line
 * each, for programs that read the logs of nginx or Apache:
 *
 *     192.0.2.7 - - [26/Nov/2026:16:28:17 +0000] "GET /a HTTP/1.1" 200 612 "https://a.test/" "curl/8.5"
 *
 * Values are escaped as by `escape=default`; what nginx has no value for is `-`.
 * https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format
 */
import type { Exchange } from "../../http/message.ts";
import { keepFields, loggedReferer } from "../lines/kept_fields.ts";
import { type LogBuffer, type Piece, pieceOf } from "../lines/log_buffer.ts";

/** Of clients that are gone before a response (`NGX_HTTP_CLIENT_CLOSED_REQUEST`). */
const CLIENT_CLOSED_REQUEST = 499;

/** The name of a user comes with credentials, which are not logged. */
const NO_USER = pieceOf(" - - [");
const ZONE = pieceOf(` +0000] "`);
const BLANK = pieceOf(" ");
const CLOSING_QUOTE = pieceOf(`" `);
const OPENING_QUOTE = pieceOf(` "`);
const BETWEEN = pieceOf(`" "`);
const NOTHING = pieceOf("-");
const END = pieceOf(`"\n`);

/** By `ExchangeRecord.version`. */
const VERSIONS: Readonly<Record<number, Piece>> = {
  10: pieceOf(" HTTP/1.0"),
  11: pieceOf(" HTTP/1.1"),
  20: pieceOf(" HTTP/2.0"),
};

/** `user:password@` of an absolute target. */
const USERINFO = /\/\/[^/?#\s]*@/;

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

export class NginxLine {
  readonly #out: LogBuffer;
  /** Whether queries are written. */
  readonly #query: boolean;
  #second = NaN;
  #secondText = pieceOf("");

  constructor(out: LogBuffer, query: boolean) {
    this.#out = out;
    this.#query = query;
  }

  /** Adds an exchange's line. `now` in ms since the epoch. */
  write(exchange: Exchange, now: number): void {
    const out = this.#out;
    const { record, client } = exchange;
    out.escapedAsNginx(record.clientAddress || client.address);
    out.piece(NO_USER);
    this.#time(now);
    out.piece(ZONE);
    this.#request(exchange);
    out.piece(CLOSING_QUOTE);
    out.integer(record.status || CLIENT_CLOSED_REQUEST);
    out.piece(BLANK);
    out.integer(record.bytesOut - record.headBytesOut);
    out.piece(OPENING_QUOTE);
    if (record.hasHead) keepFields(exchange);
    this.#value(loggedReferer(record.referer ?? "", this.#query));
    out.piece(BETWEEN);
    this.#value(record.userAgent ?? "");
    out.piece(END);
  }

  /** The request line as the client has sent it, but for its query; of HTTP/2 as nginx writes it. */
  #request({ record, request }: Exchange): void {
    const out = this.#out;
    if (record.refusedLine !== null) {
      const line = record.refusedLine.replace(USERINFO, "//");
      return this.#value(this.#query ? line : withoutQuery(line));
    }
    if (record.method === "") return out.piece(NOTHING);
    out.escapedAsNginx(record.method);
    out.piece(BLANK);
    out.escapedAsNginx(request.received || (record.requestedPath ?? request.path));
    if (this.#query) {
      out.escapedAsNginx(record.requestedPath === null ? request.query : record.requestedQuery);
    }
    out.piece(VERSIONS[record.version] ?? VERSIONS[11]);
  }

  #value(text: string): void {
    if (text === "") this.#out.piece(NOTHING);
    else this.#out.escapedAsNginx(text);
  }

  /** `26/Nov/2026:16:28:17`, which is made once a second. */
  #time(now: number): void {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      const [year, month, day, time] = new Date(second * 1000).toISOString().split(/[-T.]/);
      this.#secondText = pieceOf(`${day}/${MONTHS[Number(month) - 1]}/${year}:${time}`);
    }
    this.#out.piece(this.#secondText);
  }
}

/** A request line of any kind without what may be a query; its version, if it has one, stays. */
function withoutQuery(line: string): string {
  const query = line.indexOf("?");
  if (query === -1) return line;
  const version = / HTTP\/\d\.\d$/.exec(line)?.[0] ?? "";
  return line.slice(0, query) + version;
}
