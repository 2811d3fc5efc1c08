/**
 * Whether gRPC-Web is translated for a Service's backends. In: a Service and its annotation. Out:
 * what it says, or nothing, for which the proxy has a default.
 */
import type { Identified } from "../../base/identity.ts";
import { fieldOf, isAbsent, quote } from "../../base/json.ts";
import type { ProblemList } from "../../base/problems.ts";
import { GRPC_WEB_ANNOTATION } from "../annotations/own_annotation_names.ts";

/** Undefined where nothing is said, or neither yes nor no; that is a problem then. */
export function readGrpcWeb(
  { identity, object }: Identified,
  problems: ProblemList,
): boolean | undefined {
  const annotations = fieldOf(fieldOf(object, "metadata"), "annotations");
  const written = fieldOf(annotations, GRPC_WEB_ANNOTATION);
  if (written === "true" || written === "false") return written === "true";
  if (!isAbsent(written)) {
    problems.about(identity.ref).warning(
      `metadata.annotations[${JSON.stringify(GRPC_WEB_ANNOTATION)}]`,
      {
        reason: "GrpcWebInvalid",
        message: `${quote(written)} is neither "true" nor "false", so the proxy's default is used`,
        remedy: `Write "true" or "false", with quotes`,
      },
    );
  }
  return undefined;
}
