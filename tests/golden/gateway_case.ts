/**
 * The golden files of Gateway API. In: `gateway/NAME.in.yaml`, the objects of one case as ordinary manifests.
 * Out: the conditions of every class, Gateway and route, as the text of `NAME.out.yaml`.
 *
 * `!base64 NAME …` stands for files in `certificates/`, as for `translate_case.ts`.
 */
import { Document } from "yaml";
import { type Identified, ObjectIndex } from "../../controller/base/identity.ts";
import { ProblemList } from "../../controller/base/problems.ts";
import { readService } from "../../controller/translate/backends/service.ts";
import { readSecret } from "../../controller/translate/certificates/certificate_source.ts";
import {
  type GatewayTranslation,
  servicePorts,
  tlsSecrets,
  translateGatewayApi,
} from "../../controller/translate/gateway/gateway_translation.ts";
import { namesEndingIn, parseObjects, shortenSmallMaps } from "./golden_yaml.ts";

const FOLDER = new URL("./gateway/", import.meta.url);

export function gatewayCaseNames(): string[] {
  return namesEndingIn(FOLDER, ".in.yaml");
}

export function gatewayOutputNames(): string[] {
  return namesEndingIn(FOLDER, ".out.yaml");
}

export function gatewayOutputFile(name: string): URL {
  return new URL(`${name}.out.yaml`, FOLDER);
}

export function readGatewayCase(name: string): readonly unknown[] {
  return parseObjects(Deno.readTextFileSync(new URL(`${name}.in.yaml`, FOLDER)), name);
}

export function runGatewayCase(objects: readonly unknown[]): GatewayTranslation {
  const ofKind = (kind: string) =>
    objects.filter((object) => (object as { kind?: unknown } | null)?.kind === kind);
  const namespaces = ofKind("Namespace") as { metadata: { name: string; labels?: Labels } }[];
  return translateGatewayApi({
    classes: ofKind("GatewayClass"),
    gateways: ofKind("Gateway"),
    routes: ofKind("HTTPRoute"),
    grants: ofKind("ReferenceGrant"),
  }, {
    services: servicePorts(byKey(ofKind("Service"), readService)),
    secrets: tlsSecrets(byKey(ofKind("Secret"), readSecret)),
    namespaces: new Map(namespaces.map(({ metadata: { name, labels = {} } }) => [name, labels])),
  });
}

type Labels = Readonly<Record<string, string>>;

function byKey<T extends Identified>(
  objects: readonly unknown[],
  read: (object: object) => T | null,
): ReadonlyMap<string, T> {
  return new ObjectIndex(read).of(objects, new ProblemList());
}

/** As YAML, objects by their names. */
export function formatGatewayCase({ classes, gateways, routes }: GatewayTranslation): string {
  const document = new Document({
    classes: classes.map(({ name, generation, conditions }) => ({ name, generation, conditions })),
    gateways: gateways.map(({ identity, generation, conditions, listeners }) => ({
      name: identity.key,
      ...{ generation, conditions },
      listeners: listeners.map(({ supportedKinds, ...listener }) => ({
        ...listener,
        supportedKinds: supportedKinds.map(({ kind }) => kind),
      })),
    })),
    routes: routes.map(({ identity, generation, parents }) => ({
      name: identity.key,
      ...{ generation, parents },
    })),
  }, { aliasDuplicateObjects: false });
  shortenSmallMaps(document, { items: 5, length: 20 });
  return document.toString({ lineWidth: 100 });
}
