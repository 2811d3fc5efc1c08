/**
 * What a translator remembers. In: nothing. Out: an object for each stage that remembers, each made
 * once for a translator; the whole list of what survives from one translation to the next.
 *
 * None of it decides anything: a translator that remembers nothing gives the same bytes.
 */
import type { Certificate } from "../../shared/snapshot/types.ts";
import { BackendMemory } from "./backends/backend.ts";
import { readService, type ServiceModel } from "./backends/service.ts";
import { ClusterAdmission } from "./bounds/cluster_bound.ts";
import { GlobalSettingsReader } from "./config_map/global_settings.ts";
import { Demands } from "./bounds/demand.ts";
import { NamespaceAdmission } from "./bounds/namespace_bounds.ts";
import { PublishedGateways } from "./bounds/published_gateways.ts";
import { readSecret, type SecretModel } from "./certificates/certificate_source.ts";
import { PublishedPairs } from "./bounds/held_certificates.ts";
import { UpstreamTlsBound } from "./bounds/upstream_tls_bound.ts";
import { RequiredSecrets } from "./certificates/required_secrets.ts";
import { DefaultHosts } from "./certificates/default_hosts.ts";
import { CertificateAssigner } from "./certificates/tls.ts";
import { CredentialsReader } from "./credentials/credentials.ts";
import { ClaimantList, KeptClaims, ServingIngresses } from "./hosts/host_claimants.ts";
import { OwnershipResolver } from "./hosts/ownership.ts";
import { ObjectIndex } from "../base/identity.ts";
import { OwnIngresses } from "./ingress/class.ts";
import { IngressReader } from "./ingress/ingress_list.ts";
import { IngressObjects } from "./ingress/ingress_object.ts";
import { TooLargeReader } from "./ingress/too_large.ts";
import { NamespaceReader } from "./hosts/namespace_facts.ts";
import { labelOrder } from "../base/problems.ts";
import { PublishedModels } from "./bounds/published_sources.ts";
import { RouteBuilder } from "./routes/routing.ts";
import { GatewayReaders } from "./gateway/gateway_readers.ts";
import { GatewayTranslator } from "./gateway/gateway_translator.ts";
import { MergedParts } from "./gateway/merged_parts.ts";
import { NamedUpstreams } from "./gateway/named_upstreams.ts";
import { HostSettingsList } from "./routes/host_settings.ts";
import { UsedSettings } from "./routes/used_settings.ts";
import { SortedList } from "../base/sorted_list.ts";
import { StatusCollector } from "./statuses.ts";
import { compareText } from "../base/text_order.ts";

/** What was read of objects, each by itself; it goes with the objects. */
export class ObjectReaders {
  readonly ingresses = new IngressObjects();
  readonly services: ObjectIndex<ServiceModel> = new ObjectIndex(readService);
  /** A key takes a millisecond to check. */
  readonly secrets: ObjectIndex<SecretModel> = new ObjectIndex(readSecret);
  readonly gateway = new GatewayReaders();
}

/** What the last translation came to, stage by stage. */
export class StageMemory {
  readonly namespaces = new NamespaceReader();
  readonly globals = new GlobalSettingsReader();
  readonly ownIngresses: OwnIngresses;
  readonly tooLarge = new TooLargeReader();
  readonly ingresses = new IngressReader();
  readonly requiredSecrets = new RequiredSecrets();
  readonly namespaceBounds: NamespaceAdmission;
  readonly clusterBounds: ClusterAdmission;
  readonly claimants = new ClaimantList();
  readonly ownership = new OwnershipResolver();
  readonly serving = new ServingIngresses();
  readonly keptClaims = new KeptClaims();
  readonly backends: BackendMemory;
  readonly routes = new RouteBuilder();
  readonly usedSettings = new UsedSettings();
  readonly credentials = new CredentialsReader();
  readonly hostSettings = new HostSettingsList();
  readonly publishedPairs = new PublishedPairs();
  readonly upstreamTlsBound = new UpstreamTlsBound();
  readonly certificates = new CertificateAssigner();
  readonly defaultHosts = new DefaultHosts();
  readonly statuses = new StatusCollector();
  readonly gateway: GatewayTranslator;
  readonly namedUpstreams: NamedUpstreams;
  readonly merged = new MergedParts();
  /** Of the snapshot, by id. */
  readonly certificateOrder = new SortedList<Certificate>((a, b) => compareText(a.id, b.id));
  readonly problemOrder = labelOrder();

  constructor({ ingresses, services, gateway }: ObjectReaders) {
    const published = new PublishedGateways();
    this.gateway = new GatewayTranslator(gateway, published);
    this.namedUpstreams = new NamedUpstreams(gateway);
    this.ownIngresses = new OwnIngresses(ingresses);
    const demands = new Demands();
    this.namespaceBounds = new NamespaceAdmission(demands, new PublishedModels());
    this.clusterBounds = new ClusterAdmission(this.namespaceBounds, demands, published);
    this.backends = new BackendMemory(services);
  }
}
