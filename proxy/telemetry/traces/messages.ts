/** What the supervisor and the thread that exports spans say to each other. In and out: plain data. */
import type { SpanDropReason } from "./options.ts";

export type ToExporter =
  | {
    readonly kind: "spans";
    readonly bytes: Uint8Array<ArrayBuffer>;
    readonly spans: number;
  }
  /** Sends what waits, for so many ms, and then says so. */
  | { readonly kind: "close"; readonly timeout: number };

export type FromExporter =
  | ({ readonly kind: "settled" } & Settled)
  /** As `ExporterEvents.failing`. */
  | { readonly kind: "failing"; readonly reason: string | null }
  | { readonly kind: "closed" };

/** What became of a batch. */
export interface Settled {
  /** Of the batch. */
  readonly bytes: number;
  readonly exported: number;
  readonly dropped: Readonly<Partial<Record<SpanDropReason, number>>>;
}
