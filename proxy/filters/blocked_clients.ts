/**
 * Clients that no route of a profile serves. In: the list of the snapshot, as it changes, and requests.
 * Out: 403 for clients of its networks, and for requests whose User-Agent or Referer it has; as nginx's
 * `map` compares them, but that each of several lines counts.
 *
 * https://nginx.org/en/docs/http/ngx_http_map_module.html
 */
import { isSamePart } from "../../shared/snapshot/equality.ts";
import { NetworkSet } from "../../shared/net/network_set.ts";
import type { BlockedClients, FilterSpec } from "../../shared/snapshot/types.ts";
import { ProxyError } from "../errors.ts";
import { asciiBytes, DROPPED, type Fields, REFERER, USER_AGENT } from "../http/fields.ts";
import { equalsLower } from "../http/letter_case.ts";
import type { Exchange } from "../http/message.ts";
import { compileSearch } from "../router/patterns/pattern.ts";
import { MAX_LISTED, PatternWork } from "../router/patterns/work.ts";
import type { Filter } from "./filter.ts";

export interface BlockedClientsServices {
  /** Those of the active snapshot. */
  readonly blockedClients?: Pick<ActiveBlockedClients, "blocks">;
}

type Spec = Extract<FilterSpec, { readonly kind: "blocked-clients" }>;

/** One for all, as rejected requests may come in floods and a stack costs more than the verdict. */
const FORBIDDEN = new ProxyError("forbidden");

export function blockedClients(
  _: Spec,
  { blockedClients: active }: BlockedClientsServices,
): Filter {
  if (active === undefined) throw new Error("nobody knows the blocked clients");
  return {
    request: (x) => {
      if (active.blocks(x)) throw FORBIDDEN;
      return null;
    },
  };
}

/** How many verdicts are kept: most clients send more than one request, and many the same texts. */
const MAX_KEPT = 1024;
/** Characters of a text whose verdict is kept. */
const MAX_KEPT_TEXT = 256;
/**
 * Characters of a line that expressions are searched in: nginx refuses longer ones with 400
 * (large_client_header_buffers), and time grows with them.
 */
const MAX_LINE = 8192;

/** The list of one event loop. */
export class ActiveBlockedClients {
  #list: BlockedClients | null = null;
  #checks: readonly ((x: Exchange) => boolean)[] | null = null;
  /** Why there are no checks. */
  #fault = "the snapshot has no blocked clients";

  /** Null: the snapshot has no list. */
  replace(list: BlockedClients | null): void {
    if (isSamePart(list, this.#list)) return;
    this.#list = list;
    this.#checks = null;
    if (list === null) {
      this.#fault = "the snapshot has no blocked clients";
      return;
    }
    try {
      this.#checks = checksOf(list);
    } catch (error) {
      this.#fault = error instanceof Error ? error.message : String(error);
    }
  }

  /** Throws a ProxyError where there is no list, or one that cannot be used. */
  blocks(x: Exchange): boolean {
    if (this.#checks === null) throw new ProxyError("route_broken", this.#fault);
    return this.#checks.some((check) => check(x));
  }
}

function checksOf(
  { networks, userAgents, referers }: BlockedClients,
): readonly ((x: Exchange) => boolean)[] {
  const checks: ((x: Exchange) => boolean)[] = [];
  if (networks !== undefined) {
    const blocked = new NetworkSet(networks);
    const isBlocked = kept((address) => blocked.contains(address));
    checks.push(({ record: { clientAddress } }) => isBlocked(clientAddress));
  }
  if (userAgents !== undefined) checks.push(linesCheck(USER_AGENT, "user-agent", userAgents));
  if (referers !== undefined) checks.push(linesCheck(REFERER, "referer", referers));
  return checks;
}

type Patterns = NonNullable<BlockedClients["userAgents"]>;

/** Throws where an expression does not compile. */
function linesCheck(id: number, name: string, patterns: Patterns): (x: Exchange) => boolean {
  const texts = new Set(
    patterns.filter(({ type }) => type === "Exact").map(({ value }) => value),
  );
  const expressions = patterns.filter(({ type }) => type === "Regex").map(({ value }) => {
    const compiled = compileSearch(value);
    if (!compiled.ok) throw new Error(compiled.reason);
    return compiled.isIn;
  });
  let work = new PatternWork(MAX_LISTED);
  const isBlocked = kept((line) => {
    if (texts.has(line.toLowerCase())) return true;
    if (line === "" || expressions.length === 0) return false;
    if (line.length > MAX_LINE) return true;
    const matches = expressions.some((isIn) => isIn(line, work));
    // No verdict that may be kept: it depends on the other lines.
    if (work.isExceeded) throw FORBIDDEN;
    return matches;
  });
  const bytes = asciiBytes(name);
  return ({ request: { fields } }) => {
    const lines = linesOf(fields, id, bytes);
    work = new PatternWork(MAX_LISTED);
    if (lines.length === 0) return isBlocked("");
    // nginx sees them as one text, and some backends do.
    return lines.some(isBlocked) || (lines.length > 1 && isBlocked(lines.join(", ")));
  };
}

/** Those too that `Connection` names, so that no backend gets them. */
function linesOf(fields: Fields, id: number, name: Uint8Array): string[] {
  const lines: string[] = [];
  for (let i = 0; i < fields.count; i++) {
    const own = fields.ids[i];
    if (own === id || (own === DROPPED && isNamed(fields, i, name))) lines.push(fields.value(i));
  }
  return lines;
}

function isNamed(fields: Fields, index: number, name: Uint8Array): boolean {
  const start = fields.nameStart(index);
  return fields.nameEnd(index) - start === name.length && equalsLower(fields.bytes, start, name);
}

/** The same verdict on each text, found at once where it is known. */
function kept(verdictOn: (text: string) => boolean): (text: string) => boolean {
  const verdicts = new Map<string, boolean>();
  return (text) => {
    let verdict = verdicts.get(text);
    if (verdict !== undefined) return verdict;
    verdict = verdictOn(text);
    if (text.length > MAX_KEPT_TEXT) return verdict;
    if (verdicts.size >= MAX_KEPT) verdicts.clear();
    verdicts.set(text, verdict);
    return verdict;
  };
}
