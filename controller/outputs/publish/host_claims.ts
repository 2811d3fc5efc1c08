/**
 * Keeps the recorded claims to hosts. In: the ConfigMap `pingress-claims` as a watch shows it, and
 * the claims that the last translation came to. Out: the claims for the next translation, and the
 * ConfigMap as it should be, written by whoever leads.
 *
 * Where the ConfigMap has been deleted or damaged, the claims of this process's last translation
 * hold; a process that has none yet has them determined from what is published.
 */
import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Logger } from "../../../shared/log.ts";
import type { Problem } from "../../../shared/problem.ts";
import { DONE, IDLE, type JobOutcome } from "../write/job.ts";
import { NOT_LEADING, type WriteClient } from "../../kube/fenced_client.ts";
import { isAlike } from "../../kube/likeness.ts";
import type { ObjectView } from "../../kube/store.ts";
import { type ApiResult, CONFIG_MAPS, type KubeObject } from "../../kube/types.ts";
import type { Entries, LiveConfigMap } from "./objects.ts";
import { OwnWrites, type Seen } from "./own_writes.ts";
import { type Content, mustBeMadeAnew, PUBLISHED_LABEL, removalOf } from "./repair.ts";
import {
  type ClaimsReading,
  claimsText,
  type HostClaims,
  isSameClaims,
  parseClaims,
  type RecordedClaim,
} from "../../translate/hosts/host_claims.ts";
import { OWNER_LABELS } from "../workload/names.ts";
import { showSome } from "../../base/json.ts";
import { compareText } from "../../base/text_order.ts";

export const CLAIMS_NAME = "pingress-claims";

/** Other than that of what proxies read: older controllers delete nothing that they do not know. */
export const CLAIMS_LABELS: Entries = { ...OWNER_LABELS, [PUBLISHED_LABEL]: "claims" };

const PLAIN_KEY = "claims.json";
const PACKED_KEY = "claims.json.gz";

/** Bytes up to which the claims stand there as text, for people to read. */
const PLAIN_BYTES = 256 * 1024;

/** Bytes of what is compressed; the API server takes 1 MiB. */
const PACKED_BYTES = 960 * 1024;

/** Bytes of the text that is read back; about 600,000 hosts. */
const MAX_TEXT = 64 * 1024 * 1024;

export type ClaimsConfigMap = KubeObject & LiveConfigMap;

export interface ClaimsKeeperOptions {
  readonly client: Pick<WriteClient, "apply" | "patch" | "delete">;
  readonly namespace: string;
  /** Those with `CLAIMS_LABELS`, among others. */
  readonly configMaps: ObjectView<ClaimsConfigMap>;
  readonly log: Logger;
}

/** What the ConfigMap should hold; null where it should not be there. */
type ClaimsContent = Pick<Content, "data" | "binaryData"> | null;

export class ClaimsKeeper {
  readonly #options: ClaimsKeeperOptions;
  readonly #configMaps: OwnWrites<ClaimsConfigMap>;
  /** By what the ConfigMap holds; the last two. */
  readonly #readings = new Map<string, ClaimsReading>();
  /** Of the last translation; null before it, and where hosts are shared by all. */
  #planned: HostClaims | null = null;
  #isPlanned = false;
  /** Compared last, and found to say the same. */
  #settled: readonly [recorded: HostClaims, planned: HostClaims] | null = null;
  #problems: readonly Problem[] = [];
  #fitting: FittingContent & { readonly planned: HostClaims } | null = null;
  /** Why the ConfigMap could not be read, when it was logged last. */
  #complaint = "";

  constructor(options: ClaimsKeeperOptions) {
    this.#options = options;
    this.#configMaps = new OwnWrites(options.configMaps, options.namespace);
  }

  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** For the next translation; null where none are known. */
  claims(): HostClaims | null {
    return this.#recorded() ?? this.#planned;
  }

  /** Takes what a translation came to. */
  plan(claims: HostClaims | null): void {
    this.#planned = claims;
    this.#isPlanned = true;
  }

  /** Whether what is recorded differs from what the last translation came to. */
  get differs(): boolean {
    const recorded = this.#recorded();
    return recorded === null || this.#planned === null
      ? recorded !== this.#planned
      : !this.#isSettled(recorded, this.#planned);
  }

  /** To be run by whoever may write. */
  async run(): Promise<JobOutcome> {
    if (!this.#isPlanned) return DONE;
    const recorded = this.#recorded();
    const planned = this.#planned;
    if (planned === null || planned.size === 0) return await this.#write(null, null);
    if (recorded !== null && this.#isSettled(recorded, planned)) {
      this.#problems = [];
      return DONE;
    }
    // Where they do not fit, that takes seconds.
    if (this.#fitting?.planned !== planned) {
      this.#fitting = { planned, ...fittingContent(planned) };
    }
    const { content, crowded } = this.#fitting;
    if (content === null) {
      this.#problems = [TOO_LARGE];
      return DONE;
    }
    const seen = this.#seen();
    // Without the claims that wait it differs from what is planned each time.
    if (
      seen !== null && isAlike(seen.object.binaryData ?? {}, content.binaryData ?? {}) &&
      isAlike(seen.object.data ?? {}, content.data ?? {})
    ) {
      this.#problems = crowdingProblems(crowded);
      return DONE;
    }
    return await this.#write(content, planned);
  }

  /** Deletes the record; null, or why that failed. */
  async remove(): Promise<string | null> {
    this.#planned = null;
    const outcome = await this.#write(null, null);
    return outcome.kind === "failed" ? outcome.reason : null;
  }

  /** The record may be read on without it. */
  close(): void {
    this.#configMaps.close();
  }

  #isSettled(recorded: HostClaims, planned: HostClaims): boolean {
    const settled = this.#settled;
    if (settled !== null && settled[0] === recorded && settled[1] === planned) return true;
    if (!isSameClaims(recorded, planned)) return false;
    this.#settled = [recorded, planned];
    return true;
  }

  #seen(): Seen<ClaimsConfigMap> | null {
    return this.#configMaps.list().get(CLAIMS_NAME) ?? null;
  }

  /** Null where there is no record that can be read. */
  #recorded(): HostClaims | null {
    const seen = this.#seen();
    if (seen === null) return null;
    const { data, binaryData } = seen.object;
    const packed = binaryData?.[PACKED_KEY];
    const text = packed ?? data?.[PLAIN_KEY] ?? "";
    let reading = this.#readings.get(text);
    if (reading === undefined) {
      reading = readClaims(seen.object);
      this.#remember(text, reading);
    }
    if (reading.ok) {
      this.#complaint = "";
      return reading.claims;
    }
    if (this.#complaint !== reading.reason) {
      this.#options.log.warn("Cannot read the recorded host claims", { reason: reading.reason });
    }
    this.#complaint = reading.reason;
    return null;
  }

  #remember(text: string, reading: ClaimsReading): void {
    this.#readings.set(text, reading);
    const [oldest] = this.#readings.keys();
    if (this.#readings.size > 2) this.#readings.delete(oldest);
  }

  async #write(content: ClaimsContent, claims: HostClaims | null): Promise<JobOutcome> {
    const { client, namespace, log } = this.#options;
    const seen = this.#seen();
    // A write that comes too late, by a leader of before, must not undo that of the next one.
    let version = seen?.version ?? "";
    if (seen !== null && (content === null || mustBeMadeAnew(seen.object, content))) {
      const { uid } = seen.object.metadata;
      const options = uid === undefined ? {} : { uid };
      const deleted = await client.delete(CONFIG_MAPS, namespace, CLAIMS_NAME, options);
      if (!deleted.ok && deleted.error.code !== 404) return this.#failed(deleted);
      this.#configMaps.deleted(seen.object);
      version = "";
      log.info("Recorded host claims deleted");
    }
    this.#problems = content === null ? [] : crowdingProblems(this.#fitting?.crowded ?? []);
    if (content === null) return DONE;
    const packed = content.binaryData?.[PACKED_KEY];
    const text = packed ?? content.data?.[PLAIN_KEY] ?? "";
    const metadata = { name: CLAIMS_NAME, namespace, labels: CLAIMS_LABELS };
    const applied = await client.apply<ClaimsConfigMap>(
      CONFIG_MAPS,
      { metadata, ...content },
      version === "" ? {} : { resourceVersion: version },
    );
    if (!applied.ok) return this.#failed(applied);
    // Apply keeps keys that others have added: an old compressed record would be read in place of the text.
    const removal = removalOf(applied.value, content);
    const { resourceVersion } = applied.value.metadata;
    const written = removal === null ? applied : await client.patch<ClaimsConfigMap>(
      CONFIG_MAPS,
      namespace,
      CLAIMS_NAME,
      { ...removal, metadata: { resourceVersion } },
      { type: "merge" },
    );
    if (!written.ok) return this.#failed(written);
    // What was just made needs no reading; of owners alone the rest is planned again.
    if (claims !== null && packed === undefined) this.#remember(text, { ok: true, claims });
    this.#configMaps.wrote(written.value);
    return DONE;
  }

  #failed({ error }: Extract<ApiResult<unknown>, { ok: false }>): JobOutcome {
    if (error.reason === NOT_LEADING) return IDLE;
    this.#configMaps.forget();
    const reason = `ConfigMap ${CLAIMS_NAME}: ${error.message}`;
    const failed: JobOutcome = { kind: "failed", reason, retryAfter: error.retryAfter };
    // Somebody else has written it: the next run starts from that.
    if (error.code === 409) return failed;
    this.#problems = [{
      object: null,
      field: "",
      reason: "ClaimsNotRecorded",
      message:
        `claims to hosts cannot be recorded in ConfigMap ${CLAIMS_NAME} (${error.message}), ` +
        "so after a restart hosts belong to the namespaces that serve them then",
      remedy: "Apply the manifests of this version, which grant create, patch and delete on it",
      severity: "warning",
    }];
    return failed;
  }
}

const TOO_LARGE: Problem = {
  object: null,
  field: "",
  reason: "ClaimsTooLarge",
  message: `claims to hosts do not fit into ConfigMap ${CLAIMS_NAME}, so the previous record ` +
    "stays, and a host named since belongs to its oldest Ingress",
  remedy: "Serve fewer hosts with this controller, or annotate Namespaces with pingress.io/hosts",
  severity: "error",
};

function crowdingProblems(crowded: readonly string[]): readonly Problem[] {
  return crowded.length === 0 ? [] : [{
    ...TOO_LARGE,
    message: `claims to hosts do not fit into ConfigMap ${CLAIMS_NAME}, so the newest of ` +
      `${crowded.length === 1 ? "namespace" : "namespaces"} ${
        showSome(crowded)
      } are not recorded: ` +
      "these hosts belong to their oldest Ingress or HTTPRoute",
  }];
}

/** How often the share of a namespace is halved, at most: each time all claims are compressed. */
const HALVINGS = 7;

/** Bytes of a claim without its host, before compression. */
const CLAIM_BYTES = 64;

interface FittingContent {
  readonly content: ClaimsContent;
  /** Namespaces whose newest claims have no room. */
  readonly crowded: readonly string[];
}

/** The claims that a namespace owns. */
interface NamespaceClaims {
  readonly namespace: string;
  /** The oldest first. */
  readonly claims: readonly (readonly [host: string, list: readonly RecordedClaim[]])[];
  readonly bytes: number;
}

/**
 * All claims where they fit; else without those that wait, and then without the newest of the namespaces with
 * the most: a namespace must not keep others from having theirs recorded. As many as fit; null where none do.
 */
function fittingContent(planned: HostClaims): FittingContent {
  const owned = ownersOf(planned);
  const whole = contentOf(planned) ?? contentOf(owned);
  if (whole !== null) return { content: whole, crowded: [] };
  const namespaces = byNamespace(owned);
  let fitting: FittingContent = { content: null, crowded: [] };
  let [low, high] = [0, Math.max(...namespaces.map(({ bytes }) => bytes))];
  for (let i = 0; i < HALVINGS; i++) {
    const share = (low + high) / 2;
    const claims = new Map(namespaces.flatMap((each) => oldestWithin(each, share)));
    const content = claims.size === 0 ? null : contentOf(claims);
    if (content === null && claims.size > 0) high = share;
    else {
      const crowded = namespaces.filter(({ bytes }) => bytes > share);
      if (content !== null) {
        fitting = { content, crowded: crowded.map(({ namespace }) => namespace) };
      }
      low = share;
    }
  }
  return fitting;
}

/** @param claims One for each host, but for hosts that are shared. */
function byNamespace(claims: HostClaims): readonly NamespaceClaims[] {
  return Array.from(
    Map.groupBy(claims, ([, [{ namespace }]]) => namespace),
    ([namespace, own]) => ({
      namespace,
      claims: own.sort(([a, [{ since }]], [b, [other]]) =>
        compareText(since, other.since) || compareText(a, b)
      ),
      bytes: own.reduce((sum, [host]) => sum + sizeOf(host), 0),
    }),
  ).sort((a, b) => compareText(a.namespace, b.namespace));
}

/** @param share In bytes. */
function oldestWithin(
  { claims, bytes }: NamespaceClaims,
  share: number,
): NamespaceClaims["claims"] {
  if (bytes <= share) return claims;
  let taken = 0;
  const end = claims.findIndex(([host]) => (taken += sizeOf(host)) > share);
  return claims.slice(0, end);
}

function sizeOf(host: string): number {
  return host.length + CLAIM_BYTES;
}

/** Null where it does not fit into one ConfigMap. */
function contentOf(claims: HostClaims): ClaimsContent {
  const text = claimsText(claims);
  if (Buffer.byteLength(text) <= PLAIN_BYTES) return { data: { [PLAIN_KEY]: text } };
  const packed = gzipSync(text);
  if (packed.length > PACKED_BYTES) return null;
  return { binaryData: { [PACKED_KEY]: packed.toString("base64") } };
}

/** Without the claims that wait. */
function ownersOf(claims: HostClaims): HostClaims {
  return new Map(Array.from(claims, ([host, list]) => [
    host,
    list.filter(({ shared }, i) => i === 0 || shared),
  ]));
}

/** Never throws. */
export function readClaims(
  { data, binaryData }: Pick<LiveConfigMap, "data" | "binaryData">,
): ClaimsReading {
  const packed = binaryData?.[PACKED_KEY];
  return packed === undefined ? parseClaims(data?.[PLAIN_KEY] ?? "") : unpack(packed);
}

function unpack(packed: string): ClaimsReading {
  try {
    const text = gunzipSync(Buffer.from(packed, "base64"), { maxOutputLength: MAX_TEXT });
    return parseClaims(text.toString());
  } catch {
    return { ok: false, reason: `its ${PACKED_KEY} is not gzip` };
  }
}
