/**
 * The objects of Kubernetes that a published configuration is made of, and no more of each than
 * is read or written here. In: nothing. Out: types.
 */
import { Buffer } from "node:buffer";

/** Values are texts, or bytes in base64. */
export type Entries = Readonly<Record<string, string>>;

/** What a ConfigMap is to hold. Values of `binaryData` are in base64. */
export interface ConfigMapContent {
  readonly name: string;
  readonly data: Entries;
  readonly binaryData: Entries;
}

/** What a Secret is to hold: private keys. It must never be printed. */
export interface SecretContent {
  readonly name: string;
  /** In base64, by sha256. */
  readonly data: Entries;
}

interface LiveObject {
  readonly metadata?: {
    readonly name?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly labels?: Entries | null;
  };
}

/**
 * A ConfigMap as the API server has it.
 * https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/config-map-v1/
 */
export interface LiveConfigMap extends LiveObject {
  readonly data?: Entries | null;
  readonly binaryData?: Entries | null;
  readonly immutable?: boolean | null;
}

/**
 * A Secret as the API server has it.
 * https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/
 */
export interface LiveSecret extends LiveObject {
  readonly type?: string;
  readonly data?: Entries | null;
  readonly immutable?: boolean | null;
}

/** How much an object holds, in bytes as the API server counts them against its 1 MiB. */
export interface ObjectSize {
  readonly kind: "ConfigMap" | "Secret";
  readonly name: string;
  readonly bytes: number;
}

/** What the API server takes in one ConfigMap or Secret: the sum of its values in bytes. */
export const MAX_OBJECT_BYTES = 1024 * 1024;

/** Bytes of a value in base64. */
export function decodedBytes(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}
