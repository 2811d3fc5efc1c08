/**
 * A published configuration of format 1. In: a snapshot whose routes have nothing that format 1
 * lacks. Out: the ConfigMaps and Secrets that a controller of the version before has published.
 */
import { Buffer } from "node:buffer";
import { gunzipSync, gzipSync } from "node:zlib";
import { layPublishedSet } from "../../controller/outputs/publish/layout.ts";
import type { LiveConfigMap, LiveSecret } from "../../controller/outputs/publish/objects.ts";
import {
  configFileName,
  configKey,
  configMapName,
  FORMAT_1,
  sha256Of,
} from "../../shared/snapshot/published_set.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { toLive } from "./published_scene.ts";

/** Bytes of each part. */
const PART = 900 * 1024;

export function format1Set(
  snapshot: Snapshot,
): { configMaps: LiveConfigMap[]; secrets: LiveSecret[] } {
  const { configMaps: [first, ...parts], secrets } = toLive(layPublishedSet(snapshot));
  const index = JSON.parse(first.data![configKey()]);
  if (parts.length === 0) {
    return { configMaps: [firstOf(JSON.stringify(format1Of(index)))], secrets };
  }
  const packed = Buffer.concat(
    parts.map(({ binaryData }) => Buffer.from(binaryData![configKey()], "base64")),
  );
  const text = JSON.stringify(format1Of(JSON.parse(gunzipSync(packed).toString())));
  const bytes = gzipSync(text);
  const chunks = Array.from(
    { length: Math.ceil(bytes.length / PART) },
    (_, i) => bytes.subarray(i * PART, (i + 1) * PART),
  );
  const set = {
    sha256: sha256Of(text),
    parts: chunks.map((chunk, i) => ({
      path: configFileName(i + 1, FORMAT_1),
      sha256: sha256Of(chunk),
    })),
    keys: index.set.keys,
  };
  return {
    configMaps: [
      firstOf(JSON.stringify({ format: FORMAT_1, version: index.version, set })),
      ...chunks.map((chunk, i) => ({
        metadata: { name: configMapName(i + 1, FORMAT_1) },
        binaryData: { [configKey(FORMAT_1)]: chunk.toString("base64") },
      })),
    ],
    secrets,
  };
}

function firstOf(text: string): LiveConfigMap {
  const name = configMapName(0, FORMAT_1);
  return { metadata: { name }, data: { [configKey(FORMAT_1)]: text } };
}

interface Format2 {
  readonly routes: readonly {
    readonly id: string;
    readonly host: string;
    readonly match: { readonly path: object };
    readonly action: { readonly kind: string; readonly backends?: { readonly upstream: string }[] };
    readonly origin: object;
  }[];
}

/** The JSON of format 2 as format 1 had it. */
function format1Of(root: Format2): object {
  return {
    ...root,
    format: FORMAT_1,
    routes: root.routes.map(({ id, host, match, action, origin }) => ({
      id,
      host,
      path: match.path,
      action: { kind: action.kind, upstream: action.backends![0].upstream },
      origin,
    })),
  };
}
