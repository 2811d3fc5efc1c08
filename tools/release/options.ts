/** The command lines of the tasks of a release: what each takes. */
import { defineOptions, type Program } from "../../shared/options.ts";
import { VERSION } from "../../shared/version.ts";
import { IMAGES_OPTIONS } from "../deployment_options.ts";

const RELEASED = {
  type: "string",
  value: "VERSION",
  default: VERSION,
  reason: "the version of these sources",
  check: (value: string) =>
    /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(value) ? null : "a version such as 1.2.0 or 1.2.0-rc.1",
  help: "Version of the release.",
} as const;

export const NOTES_PROGRAM: Program = {
  name: "deno task release:notes",
  summary: "Prints the notes of a release: its section of CHANGELOG.md, with whole links.",
};

export const NOTES_OPTIONS = defineOptions({
  version: RELEASED,
  unreleased: { type: "boolean", help: "Prints what is not released yet, to see how it looks." },
});

export const SBOM_PROGRAM: Program = {
  name: "deno task release:sbom",
  summary: "Writes a list of the packages in each program (SPDX 2.3, JSON).",
};

export const SBOM_OPTIONS = defineOptions({
  output: { type: "string", value: "DIR", default: "dist", help: "Folder for the files." },
});

export const SIGN_PROGRAM: Program = {
  name: "deno task release:sign",
  summary: "Signs the pushed images by digest with cosign, and attests their lists of packages.",
};

export const SIGN_OPTIONS = defineOptions({
  registry: IMAGES_OPTIONS.registry,
  tag: IMAGES_OPTIONS.tag,
  digests: {
    type: "string",
    value: "FILE",
    default: "dist/digests.txt",
    help: "Writes the digest of each image to this file, as controller=sha256:… and the like.",
  },
  dryRun: { type: "boolean", help: "Prints the commands without running them." },
});

export const KREW_PROGRAM: Program = {
  name: "deno task release:krew",
  summary:
    "Makes archives of the compiled program pingress, and the manifest of its kubectl plugin.",
};

export const KREW_OPTIONS = defineOptions({
  version: RELEASED,
  input: {
    type: "string",
    value: "DIR",
    default: "dist",
    help: "Folder with the executables of deno task compile --program pingress.",
  },
  output: { type: "string", value: "DIR", default: "dist/krew", help: "Folder for the files." },
});
