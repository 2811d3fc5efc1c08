import { deepEqual } from "node:assert/strict";
import { CLASS_FINALIZER, wantedFinalizers } from "./class_finalizer.ts";

const OURS = "pingress.io/gateway-controller";
const DELETED = "2026-01-01T00:00:00Z";

const CASES: readonly {
  readonly what: string;
  readonly has?: readonly string[];
  readonly controllerName?: string;
  readonly deletionTimestamp?: string;
  readonly isUsed: boolean;
  /** Null where nothing is written. */
  readonly wanted: readonly string[] | null;
}[] = [
  { what: "a class that is used gets it", isUsed: true, wanted: [CLASS_FINALIZER] },
  {
    what: "those of others stay",
    has: ["example.com/x"],
    isUsed: true,
    wanted: ["example.com/x", CLASS_FINALIZER],
  },
  {
    what: "a class that has it is not written",
    has: [CLASS_FINALIZER],
    isUsed: true,
    wanted: null,
  },
  { what: "a class that is not used gets none", isUsed: false, wanted: null },
  {
    what: "a class that is no longer used loses it, and none of others",
    has: ["example.com/x", CLASS_FINALIZER, "example.com/y"],
    isUsed: false,
    wanted: ["example.com/x", "example.com/y"],
  },
  {
    what: "a deleted class that is used keeps it",
    has: [CLASS_FINALIZER],
    deletionTimestamp: DELETED,
    isUsed: true,
    wanted: null,
  },
  {
    what: "a deleted class takes no new one",
    has: ["example.com/x"],
    deletionTimestamp: DELETED,
    isUsed: true,
    wanted: null,
  },
  {
    what: "a deleted class that is not used loses it",
    has: [CLASS_FINALIZER],
    deletionTimestamp: DELETED,
    isUsed: false,
    wanted: [],
  },
  {
    what: "a class of another controller keeps its own",
    has: [CLASS_FINALIZER],
    controllerName: "example.com/controller",
    isUsed: false,
    wanted: null,
  },
  {
    what: "a class of another controller gets none",
    controllerName: "example.com/controller",
    isUsed: true,
    wanted: null,
  },
];

for (const { what, has, controllerName = OURS, deletionTimestamp, isUsed, wanted } of CASES) {
  Deno.test(`the finalizer of classes: ${what}`, () => {
    const object = {
      metadata: { name: "pingress", finalizers: has, deletionTimestamp },
      spec: { controllerName },
    };
    deepEqual(wantedFinalizers(object, new Set(isUsed ? ["pingress"] : ["other"])), wanted);
  });
}
