/**
 * What becomes of a request that is authenticated. In: the port of a proxy and a request, whose backend also
 * authenticates. Out: status and headers of the response, and the subrequests and the request as the backend
 * got them.
 */
import { Backend, Peer, statusOf } from "../support/backend.ts";

export interface AuthOutcome {
  readonly status: number;
  readonly fields: Readonly<Record<string, string[]>>;
  /** In order. */
  readonly asked: readonly Received[];
  readonly received: readonly Received[];
}

interface Received {
  readonly line: string;
  readonly fields: Readonly<Record<string, string[]>>;
}

/** Headers that are compared. */
const OF_RESPONSE = ["location", "set-cookie", "www-authenticate"];
const OF_SUBREQUEST = [
  ...["host", "x-original-url", "x-original-method", "x-original-uri", "x-scheme", "x-sent-from"],
  ...["x-auth-request-redirect", "x-real-ip", "x-forwarded-for", "x-forwarded-proto"],
  ...["cookie", "authorization", "content-length", "x-part"],
];
const OF_REQUEST = ["host", "x-user", "x-groups", "cookie", "authorization", "content-length"];

/** Where subrequests go: the status of the response follows, and words that say what else it has. */
export const AUTH_PATH = "/auth/";

/** Headers of a response to a subrequest, by such words. */
const EXTRAS: Readonly<Record<string, string>> = {
  cookie: "Set-Cookie: auth=1\r\n",
  cookies: "Set-Cookie: auth=1; Path=/\r\nSet-Cookie: more=2; Path=/\r\n",
  challenge: 'WWW-Authenticate: Basic realm="of auth-url"\r\n',
  user: "X-User: alice\r\nX-Groups: a,b\r\nAuthorization: Bearer of-auth\r\n",
  private: "Cache-Control: private\r\n",
  vary: "Vary: Accept-Encoding\r\n",
  brief: "Cache-Control: max-age=0\r\n",
  expired: "Expires: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
  unclear: "Expires: 0\r\n",
  uncached: "X-Accel-Expires: 0\r\n",
};

/**
 * Authenticates, and answers requests with the status that follows `/s/` in their path, 200 without. Its
 * responses have X-User, too, which must not be taken for that of the user.
 *
 * @param heads Of what it got; it adds to them.
 */
export function authBackend(heads: string[]): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      heads.push(asked.head);
      await peer.send(isSubrequest(asked.head) ? answerTo(asked.head) : replyTo(asked.head));
    }
  });
}

function isSubrequest(head: string): boolean {
  return head.split(" ", 2)[1].startsWith(AUTH_PATH);
}

function answerTo(head: string): string {
  const path = head.split(" ", 2)[1].slice(AUTH_PATH.length).split("?", 1)[0];
  const [written, ...words] = path.split("/");
  // Who has no session is not known.
  const status = written === "session" ? (/\r\ncookie: s=1/i.test(head) ? "200" : "401") : written;
  const extras = words.map((word) => EXTRAS[word] ?? "").join("");
  return `HTTP/1.1 ${status} Some\r\n${lengthOf(status)}${extras}\r\n`;
}

function replyTo(head: string): string {
  const [, status = "200"] = /^\S+ \S*\/s\/(\d{3})/.exec(head) ?? [];
  const cookie = /^\S+ \S*\?x=y/.test(head) ? "Set-Cookie: web=1\r\n" : "";
  return `HTTP/1.1 ${status} Some\r\n${lengthOf(status)}X-User: web\r\n${cookie}\r\n`;
}

function lengthOf(status: string): string {
  return status === "204" ? "" : "Content-Length: 0\r\n";
}

/** @param heads Of the backend. */
export async function authOutcome(
  port: number,
  request: string,
  heads: string[],
): Promise<AuthOutcome> {
  heads.length = 0;
  using client = await Peer.connect(port);
  const answer = await client.ask(request);
  const all = [...heads];
  const status = statusOf(answer);
  const { "www-authenticate": challenges, ...fields } = fieldsOf(answer.head, OF_RESPONSE);
  return {
    status,
    // Several challenges are one list (RFC 9110 §11.6.1).
    fields: { ...fields, "www-authenticate": joined(challenges) },
    asked: all.filter(isSubrequest).map((head) => receivedOf(head, OF_SUBREQUEST)),
    received: all.filter((head) => !isSubrequest(head))
      .map((head) => receivedOf(head, OF_REQUEST)),
  };
}

function joined(values: readonly string[]): string[] {
  return values.length === 0 ? [] : [values.join(", ")];
}

function receivedOf(head: string, names: readonly string[]): Received {
  return { line: head.split("\r\n")[0], fields: fieldsOf(head, names) };
}

function fieldsOf(head: string, names: readonly string[]): Record<string, string[]> {
  const lines = head.split("\r\n").slice(1).map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return Object.fromEntries(
    names.map((name) => [name, lines.filter(([own]) => own === name).map(([, value]) => value)]),
  );
}

/** Its status, names of headers of its response, "asked" and "forwarded". */
export function namesOf({ status, asked, received, fields }: AuthOutcome): string[] {
  return [
    String(status),
    ...asked.length > 0 ? ["asked"] : [],
    ...received.length > 0 ? ["forwarded"] : [],
    ...Object.entries(fields).filter(([, values]) => values.length > 0).map(([name]) => name),
  ];
}
