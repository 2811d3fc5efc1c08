/**
 * What a folder of manifests comes to on this machine. In: manifests, options and where sample
 * backends listen. Out: the snapshot for the proxy, and every problem with its place in the files,
 * those of Ingresses that are not served included.
 */
import type { Backend } from "../controller/cli/option_specs.ts";
import { defaultAddress } from "../controller/cli/options.ts";
import {
  type Clock,
  DEFAULT_GATEWAY_OPTIONS,
  type DefaultBackend,
  type GatewayOptions,
  type GatewayTranslation,
  type HostOwner,
  type HostOwnershipMode,
  type IngressStatus,
  type RefusalOptions,
  type TranslateOptions,
  Translator,
} from "../controller/translate/translator.ts";
import type { ConfigMapName } from "../controller/translate/model/global_settings.ts";
import type { PortRange } from "../shared/net/port_range.ts";
import type { Problem } from "../shared/problem.ts";
import type { Snapshot } from "../shared/snapshot/types.ts";
import { closedServices, settingProblems } from "./backend_tls.ts";
import { withAssumedObjects } from "./gateway/assumed_objects.ts";
import { gatewayProblems } from "./gateway/gateway_problems.ts";
import { localEndpoints, type SampleEndpoints, type StandIn } from "./local_endpoints.ts";
import type { LocatedProblem } from "./manifests/file.ts";
import type { Manifests } from "./manifests/manifests.ts";
import { certificateDateProblems } from "./problems/certificate_dates.ts";
import { classProblems, OWN_CLASS } from "./problems/class_problems.ts";
import { misplacedAnnotations } from "./problems/misplaced_annotations.ts";
import { sizeProblems } from "./problems/too_large.ts";
import { inWordsOfDev, withoutRepetitions } from "./problems/words_of_dev.ts";
import { withSampleProtocols } from "./sample_upstreams.ts";
import { isLoopback, type ServiceMapping } from "./service_mapping.ts";

const CONTROLLER = "pingress.io/ingress-controller";

export interface PlanOptions extends RefusalOptions {
  /** Classes beside our own. */
  readonly ingressClasses: readonly string[];
  /** Classes that are served in the profile nginx. */
  readonly nginxClasses: readonly string[];
  /** Of ingress-nginx; missing or null for none. */
  readonly configMap?: ConfigMapName | null;
  /** `namespace` where it is missing. */
  readonly hostOwnership?: HostOwnershipMode;
  readonly mappings: readonly ServiceMapping[];
  readonly defaultBackend: DefaultBackend | null;
  readonly allowExternalName: boolean;
  /** Of ports for listeners of Gateways; missing for the default. */
  readonly listenRange?: PortRange;
  /** `HostPort` where it is missing. */
  readonly backend?: Backend;
}

export interface Plan {
  readonly snapshot: Snapshot;
  readonly statuses: readonly IngressStatus[];
  /** Null where the folder has no Gateway. */
  readonly gateway: GatewayTranslation | null;
  /** In the order of files and lines; what stands in no file comes last. */
  readonly problems: readonly LocatedProblem[];
  /** See `LocalEndpoints.standIns`. */
  readonly standIns: ReadonlyMap<string, StandIn>;
  readonly hostOwnership: HostOwnershipMode;
  /** By host pattern; none where hosts are shared. */
  readonly hostOwners: ReadonlyMap<string, HostOwner>;
}

/** Pure but for `samples`. `published` is the snapshot before, null at first. */
export function makePlan(
  manifests: Manifests,
  options: PlanOptions,
  samples: SampleEndpoints,
  published: Snapshot | null,
  clock: Clock,
): Plan {
  const translateOptions = toTranslateOptions(options);
  const resources = withAssumedObjects(manifests.resources);
  // Of both translations below, so that what they have in common is read once.
  const translator = new Translator();
  const asWritten = { ...translateOptions, allowLocalEndpoints: false };
  const written = translator.translate(resources, published, asWritten, clock).problems;
  const closed = closedServices(written, resources);
  const local = localEndpoints(resources, { ...options, samples, closed });
  const translated = translator.translate(local.resources, published, translateOptions, clock);
  const problems = [
    ...local.problems,
    ...translated.problems.filter((problem) => !isOfSlice(problem)),
    ...written.filter((problem) => isOfSlice(problem) && !isOfThisMachine(problem, manifests)),
    ...settingProblems(written, translated.problems),
    ...classProblems(manifests.resources, translated.statuses, translateOptions),
    ...sizeProblems(manifests.resources, translated.statuses),
    ...misplacedAnnotations(manifests.resources),
    ...certificateDateProblems(translated.snapshot, resources.secrets, clock()),
    ...(translated.gateway === null
      ? []
      : gatewayProblems(resources, translated.gateway, translateOptions.gateway)),
  ];
  return {
    snapshot: withSampleProtocols(translated.snapshot, local.standIns, samples),
    statuses: translated.statuses,
    gateway: (resources.gateways ?? []).length === 0 ? null : translated.gateway,
    problems: [
      ...manifests.problems,
      ...manifests.locateAll(
        inWordsOfDev(withoutRepetitions(problems, manifests.problems), manifests),
      ),
    ].sort(byPlace),
    standIns: local.standIns,
    hostOwnership: translateOptions.hostOwnership,
    hostOwners: translated.hostOwners,
  };
}

export function toTranslateOptions(
  options: PlanOptions,
): TranslateOptions & { readonly gateway: GatewayOptions } {
  return {
    ingressClasses: [OWN_CLASS, ...options.ingressClasses, ...options.nginxClasses],
    nginxClasses: options.nginxClasses,
    controllerNames: [CONTROLLER],
    watchIngressWithoutClass: true,
    defaultBackend: options.defaultBackend,
    allowExternalName: options.allowExternalName,
    configMap: options.configMap,
    acceptUnsupported: options.acceptUnsupported,
    allowAcceptUnsupportedAnnotation: options.allowAcceptUnsupportedAnnotation,
    defaultCertificate: null,
    allowLocalEndpoints: true,
    hostOwnership: options.hostOwnership ?? "namespace",
    gateway: {
      ...gatewayOptionsOf(options.backend ?? "HostPort"),
      ...(options.listenRange === undefined ? {} : { listenRange: options.listenRange }),
    },
    version: { epoch: "file", seen: {} },
  };
}

/** Of a controller with this backend, and no other flag for Gateways. */
export function gatewayOptionsOf(backend: Backend): GatewayOptions {
  const address = defaultAddress(backend, DEFAULT_GATEWAY_OPTIONS.service);
  return { ...DEFAULT_GATEWAY_OPTIONS, address };
}

/** They are reported as they were written: slices with local addresses have other fields. */
function isOfSlice({ object }: Problem): boolean {
  return object?.kind === "EndpointSlice";
}

/** A program of the user's, which a slice names by a loopback address. */
function isOfThisMachine({ object, field, reason }: Problem, manifests: Manifests): boolean {
  const address = manifests.valueAt(object, field);
  return reason === "EndpointNotAllowed" && typeof address === "string" && isLoopback(address);
}

function byPlace(a: LocatedProblem, b: LocatedProblem): number {
  if (a.at === null || b.at === null) return Number(a.at === null) - Number(b.at === null);
  return (a.at.file < b.at.file ? -1 : a.at.file > b.at.file ? 1 : 0) ||
    a.at.line - b.at.line || a.at.column - b.at.column;
}
