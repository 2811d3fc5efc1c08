/**
 * Snippets of nginx's configuration. In: the text of one. Out: each directive by its name and line,
 * with what to do without it. Arguments never leave this file: they may hold passwords.
 */
import type { SnippetLine } from "./finding.ts";

/** Directives beyond it are counted by nobody: the snippet is to be rewritten as a whole. */
const MAX_DIRECTIVES = 200;

/** A longer word is no directive of nginx. */
const DIRECTIVE = /^[a-z][a-z0-9_]{1,60}$/;

/** `access_by_lua_block { … }`: what stands between the braces is no configuration. */
const LUA_BLOCK = /_by_lua_block$/;

/** Between the name of a directive and its block. */
const MAX_BLANKS = 1000;

const OTHER = "There is no replacement; do it in the backend, then remove the line";

const NEEDLESS = "Remove the line: no directive is needed for it here";

/** By directive. */
const REMEDIES: ReadonlyMap<string, string> = new Map([
  ...each(
    ["more_set_headers", "add_header", "more_clear_headers", "expires", "proxy_hide_header"],
    "Set the response header in the backend, then remove the line",
  ),
  ...each(
    ["proxy_set_header", "more_set_input_headers", "more_clear_input_headers"],
    "Read the header that clients send, or set it in the backend; for Host use upstream-vhost; " +
      "then remove the line",
  ),
  ...each(
    ["return", "rewrite"],
    "Use permanent-redirect, temporal-redirect or app-root where they fit, else redirect in the " +
      "backend; then remove the line",
  ),
  ...each(
    ["deny", "allow"],
    "Use denylist-source-range and whitelist-source-range, then remove the line",
  ),
  ...each(
    ["proxy_read_timeout", "proxy_send_timeout", "proxy_connect_timeout", "proxy_http_version"],
    "Use the annotation of that name, then remove the line",
  ),
  ["client_max_body_size", "Use proxy-body-size, then remove the line"],
  ["client_body_buffer_size", "Use client-body-buffer-size, then remove the line"],
  ["proxy_request_buffering", "Use proxy-request-buffering, then remove the line"],
  ...each(
    ["proxy_ssl_name", "proxy_ssl_server_name"],
    "Use proxy-ssl-name and proxy-ssl-server-name, then remove the line",
  ),
  ["access_log", "Use enable-access-log, then remove the line"],
  ["location", "Write a path of the Ingress, or an Ingress of its own, then remove the block"],
  ["if", "Decide in the backend, then remove the block"],
  ...each(["gzip", "etag", "keepalive_timeout", "proxy_buffering"], NEEDLESS),
  ...each(
    ["client_header_buffer_size", "large_client_header_buffers"],
    "The proxy's flags bound request headers for all hosts; remove the line",
  ),
]);

function each(names: readonly string[], remedy: string): [string, string][] {
  return names.map((name) => [name, remedy]);
}

/** Never throws; what follows a quote that does not end belongs to it. */
export function snippetLines(text: string): SnippetLine[] {
  const found: SnippetLine[] = [];
  let line = 1;
  let isStart = true;
  for (let at = 0; at < text.length && found.length < MAX_DIRECTIVES;) {
    const char = text[at];
    if (char === "\n") line++;
    if (/\s/.test(char)) at++;
    else if (char === "#") at = endOf(text, at, "\n");
    else if (";{}".includes(char)) {
      isStart = true;
      at++;
    } else {
      const end = char === '"' || char === "'" ? quotedEnd(text, at) : wordEnd(text, at);
      const word = text.slice(at, end);
      const isLua = isStart && LUA_BLOCK.test(word);
      if (isStart) found.push(lineOf(line, word));
      at = isLua ? luaEnd(text, end) : end;
      isStart = at > end;
      line += linesOf(text.slice(end - word.length, at));
    }
  }
  return found;
}

function lineOf(line: number, word: string): SnippetLine {
  const isDirective = DIRECTIVE.test(word);
  return {
    line,
    directive: isDirective ? word : "(no directive)",
    remedy: !isDirective
      ? "Remove the line: it does not begin with the name of a directive"
      : REMEDIES.get(word) ?? OTHER,
  };
}

/** Where the block of a directive ends whose text is Lua: behind the brace that closes it. */
function luaEnd(text: string, from: number): number {
  const start = from + (/^\s*\{/.exec(text.slice(from, from + MAX_BLANKS))?.[0].length ?? 0);
  if (start === from) return from;
  let depth = 1;
  let at = start;
  for (; at < text.length && depth > 0; at++) {
    if (text[at] === "{") depth++;
    else if (text[at] === "}") depth--;
  }
  // Braces that do not balance: what follows cannot be told from Lua.
  return depth > 0 ? text.length : at;
}

function linesOf(text: string): number {
  return text.split("\n").length - 1;
}

function endOf(text: string, from: number, mark: string): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end;
}

function quotedEnd(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== text[from]) at += text[at] === "\\" ? 2 : 1;
  return Math.min(at + 1, text.length);
}

/** `${name}` is a variable within a word, not a block. */
function wordEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && !/[\s;{}]/.test(text[at])) {
    if (text[at] === "\\") at += 2;
    else if (text.startsWith("${", at)) at = endOf(text, at, "}") + 1;
    else at++;
  }
  return Math.min(Math.max(at, from + 1), text.length);
}
