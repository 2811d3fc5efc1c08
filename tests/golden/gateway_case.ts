/**
 * The golden files of Gateway API. In: `gateway/NAME.in.yaml`, the objects of one case as ordinary manifests.
 * Out: the conditions of every class, Gateway and route, as the text of `NAME.out.yaml`.
 *
 * `!base64 NAME …` stands for files in `certificates/`, as for `translate_case.ts`.
 */
import { Document as NewDocument, isMap, isScalar, isSeq, visit } from "yaml";
import { keyOf } from "../../controller/base/identity.ts";
import { readSecret } from "../../controller/translate/certificates/certificate_source.ts";
import {
  type GatewayTranslation,
  servicePorts,
  tlsSecrets,
  translateGatewayApi,
} from "../../controller/translate/gateway/gateway_translation.ts";
import { parseObjects } from "./manifest_text.ts";

const FOLDER = new URL("./gateway/", import.meta.url);

export function gatewayCaseNames(): string[] {
  return namesEndingIn(".in.yaml");
}

export function gatewayOutputNames(): string[] {
  return namesEndingIn(".out.yaml");
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
  const secrets = ofKind("Secret").flatMap((secret) => readSecret(secret as object) ?? []);
  const namespaces = ofKind("Namespace") as { metadata: { name: string; labels?: Labels } }[];
  return translateGatewayApi({
    classes: ofKind("GatewayClass"),
    gateways: ofKind("Gateway"),
    routes: ofKind("HTTPRoute"),
    grants: ofKind("ReferenceGrant"),
  }, {
    services: servicePorts(ofKind("Service")),
    secrets: tlsSecrets(new Map(secrets.map((secret) => [keyOf(secret.identity.ref), secret]))),
    namespaces: new Map(namespaces.map(({ metadata: { name, labels = {} } }) => [name, labels])),
  });
}

type Labels = Readonly<Record<string, string>>;

/** Objects by their names, and what is true by a word: a wrong condition is found at a glance. */
export function formatGatewayCase({ classes, gateways, routes }: GatewayTranslation): string {
  const document = new NewDocument({
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
  visit(document, {
    Collection(_key, node) {
      const values = isMap(node) ? node.items.map(({ value }) => value) : node.items;
      const isSmall = values.length <= 5 &&
        values.every((value) => isScalar(value) && String(value.value).length <= 20);
      if ((isMap(node) || isSeq(node)) && isSmall) node.flow = true;
    },
  });
  return document.toString({ lineWidth: 100 });
}

function namesEndingIn(ending: string): string[] {
  return [...Deno.readDirSync(FOLDER)]
    .filter(({ name }) => name.endsWith(ending))
    .map(({ name }) => name.slice(0, -ending.length))
    .sort();
}
