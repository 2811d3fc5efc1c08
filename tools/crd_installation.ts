/**
 * The CRDs of Gateway API in a cluster. In: the user's kubectl, and a file, folder or URL. Out: CRDs that the
 * API server serves; or, before anything is changed, why that cannot be. Newer CRDs are never replaced.
 */
import { GATEWAY_API, GATEWAY_CLASSES, type KubeObject } from "../controller/kube/types.ts";
import { asList, asObject } from "../controller/base/json.ts";
import {
  CRD_KIND,
  CRD_MANAGER,
  CRD_RELEASE,
  type CrdBundle,
  crdsOf,
  planCrds,
  readBundle,
} from "./gateway_crds.ts";
import { complaintOf, type Kubectl, listText, parseObjects, Refusal } from "./kubectl.ts";

const UNCHANGED = "Nothing was changed.";

/** How long the API server may take to serve new CRDs. */
const ESTABLISHED_WITHIN = "60s";

/** How long kubectl may take from then on until it knows their kinds, in ms. */
const KNOWN_WITHIN = 30_000;

/** Between looks, in ms. */
const LOOK_AGAIN = 200;

const CRDS = `${CRD_KIND.toLowerCase()}s`;

export class CrdInstallation {
  readonly #kubectl: Kubectl;
  readonly #bundle: CrdBundle;
  readonly #isPresent: boolean;

  private constructor(kubectl: Kubectl, bundle: CrdBundle, isPresent: boolean) {
    this.#kubectl = kubectl;
    this.#bundle = bundle;
    this.#isPresent = isPresent;
  }

  /** Throws a Refusal where `source` cannot be read, has something else, or is not newer. */
  static async plan(kubectl: Kubectl, source: string): Promise<CrdInstallation> {
    const bundle = readBundle(await readSource(kubectl, source));
    if ("fault" in bundle) {
      throw new Refusal(
        `${source} is not a release of Gateway API: ${bundle.fault}. ${UNCHANGED}`,
      );
    }
    const plan = planCrds(bundle, await standingCrds(kubectl));
    if (plan.kind === "refused") {
      throw new Refusal(
        [
          `The CRDs of Gateway API ${bundle.version} cannot be applied. ${UNCHANGED}`,
          ...plan.reasons.map((reason) => `  ${reason}`),
          plan.remedy,
        ].join("\n"),
      );
    }
    return new CrdInstallation(kubectl, bundle, plan.kind === "present");
  }

  /** What is or will be in the cluster. */
  get summary(): string {
    const { version } = this.#bundle;
    return `Gateway API ${version}, standard channel${this.#isPresent ? ", present already" : ""}`;
  }

  /** Has the API server check it, without changes. Throws a Refusal. Out: a line for each object. */
  async tryOut(): Promise<readonly string[]> {
    if (this.#isPresent) return [];
    await this.#apply(["--dry-run=server"], `The API server rejects the CRDs. ${UNCHANGED}`);
    return this.#bundle.objects.map(({ kind, metadata: { name } }) =>
      `${kind} ${name}: would be applied, ${this.#bundle.version}`
    );
  }

  /** Applies what differs and waits until the API server serves it. Throws a Refusal. */
  async apply(): Promise<readonly string[]> {
    if (this.#isPresent) return [];
    const output = await this.#apply([], "Not all CRDs could be applied:");
    await this.#kubectl.text([
      "wait",
      "--for=condition=Established",
      `--timeout=${ESTABLISHED_WITHIN}`,
      CRDS,
      ...crdsOf(this.#bundle).map(({ metadata: { name } }) => name),
    ]);
    await this.#known();
    return output.trim().split("\n");
  }

  /** A CRD is Established a moment before kubectl learns of its kind. */
  async #known(): Promise<void> {
    const { plural, version, group } = GATEWAY_CLASSES;
    const deadline = performance.now() + KNOWN_WITHIN;
    while (true) {
      const { code, stderr } = await this.#kubectl.answer(["get", `${plural}.${version}.${group}`]);
      if (code === 0) return;
      if (performance.now() > deadline) {
        throw new Refusal(`The CRDs are applied, and cannot be used yet: ${complaintOf(stderr)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
    }
  }

  /** By server-side apply: a CRD is larger than the annotation of a client-side apply may be. */
  async #apply(flags: readonly string[], failure: string): Promise<string> {
    const { code, stdout, stderr } = await this.#kubectl.answer([
      "apply",
      "--server-side",
      `--field-manager=${CRD_MANAGER}`,
      // What kubectl has written by hand; plan() has refused CRDs that others manage.
      "--force-conflicts",
      "--filename=-",
      ...flags,
    ], listText(this.#bundle.objects));
    if (code !== 0) throw new Refusal(`${failure}\n\n${complaintOf(stderr)}`);
    return stdout;
  }
}

/** By kubectl, which reads files, folders and URLs with the user's own rights and proxies. */
async function readSource(kubectl: Kubectl, source: string): Promise<unknown[]> {
  const { code, stdout, stderr } = await kubectl.answer([
    ...["create", "--dry-run=client", "--validate=false", "--output=yaml"],
    `--filename=${source}`,
  ]);
  if (code === 0) return parseObjects(stdout);
  const remedy = /^https?:/.test(source)
    ? `Download ${CRD_RELEASE} where it can be reached, and name the file: ` +
      "--gateway-crds=FILE. If the cluster has the CRDs, use --gateway."
    : "Name a file or folder with the YAML of a release: --gateway-crds=FILE.";
  throw new Refusal(
    `The CRDs of Gateway API cannot be read from ${source}. ${UNCHANGED}\n` +
      `${complaintOf(stderr)}\n${remedy}`,
  );
}

/** The cluster's CRDs of Gateway API, with managed fields. */
async function standingCrds(kubectl: Kubectl): Promise<KubeObject[]> {
  const names = (await kubectl.text(["get", CRDS, "--output=name"])).split("\n")
    .filter((name) => name.endsWith(`.${GATEWAY_API}`));
  if (names.length === 0) return [];
  const text = await kubectl.text(["get", ...names, "--output=json", "--show-managed-fields"]);
  const answer: unknown = JSON.parse(text);
  // A single name gives the object itself.
  return (asList(asObject(answer)?.items) ?? [answer]) as KubeObject[];
}
