/**
 * The backend that an Ingress names, read. In: `backend` or `defaultBackend` of unknown shape. Out:
 * a `BackendRef`: a Service and its port, or the local reply in place of one that cannot be read.
 */
import { asObject, asPort, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { isDnsLabel, isPortName } from "../../base/names.ts";
import type { Report } from "../../base/problems.ts";
import { type BackendRef, upstreamId } from "../model/backend_ref.ts";
import type { BackendWish } from "../model/backend_wish.ts";

/** Reports what cannot be read; a backend that is left out answers 503, any other such one 500. */
export function readBackend(
  value: unknown,
  namespace: string,
  wish: BackendWish | null,
  field: string,
  report: Report,
): BackendRef {
  if (isAbsent(value)) {
    return refuse(
      503,
      field,
      "BackendMissing",
      "the path names no backend",
      SERVICE_REMEDY,
      report,
    );
  }
  const service = fieldOf(value, "service");
  if (isAbsent(service)) {
    return isAbsent(fieldOf(value, "resource"))
      ? refuse(500, field, "BackendInvalid", "the backend names no Service", SERVICE_REMEDY, report)
      : refuse(
        500,
        `${field}.resource`,
        "BackendNotSupported",
        "backends other than Services are not supported",
        SERVICE_REMEDY,
        report,
      );
  }
  const name = fieldOf(service, "name");
  const nameField = `${field}.service.name`;
  if (typeof name !== "string" || !isDnsLabel(name)) {
    const message = isAbsent(name) || name === ""
      ? "the Service's name is missing"
      : `${quote(name)} is not the name of a Service`;
    return refuse(500, nameField, "BackendInvalid", message, SERVICE_REMEDY, report);
  }
  const portField = `${field}.service.port`;
  const port = readPort(fieldOf(service, "port"));
  if (port.wrong !== undefined) {
    const at = `${portField}${port.at}`;
    return refuse(500, at, "BackendInvalid", port.wrong, PORT_REMEDY, report);
  }
  return {
    kind: "service",
    namespace,
    name,
    port: port.value,
    id: upstreamId(namespace, name, port.value, wish),
    wish,
    nameField,
    portField: `${portField}.${typeof port.value === "number" ? "number" : "name"}`,
  };
}

type PortReading =
  | { readonly value: number | string; readonly wrong?: undefined }
  | { readonly wrong: string; readonly at: string };

function readPort(value: unknown): PortReading {
  if (asObject(value) === null) {
    return { wrong: "the Service's port is missing, or not an object", at: "" };
  }
  const number = fieldOf(value, "number");
  const name = fieldOf(value, "name");
  // The API server takes a 0 or "" for a field that is not set.
  const hasNumber = !isAbsent(number) && number !== 0;
  const hasName = !isAbsent(name) && name !== "";
  if (hasNumber && hasName) return { wrong: "the port has both a number and a name", at: "" };
  if (hasNumber) {
    const port = asPort(number);
    return port !== null
      ? { value: port }
      : { wrong: `${quote(number)} is not a port number`, at: ".number" };
  }
  if (!hasName) return { wrong: "the port has neither a number nor a name", at: "" };
  return typeof name === "string" && isPortName(name)
    ? { value: name }
    : { wrong: `${quote(name)} is not the name of a port`, at: ".name" };
}

function refuse(
  status: 500 | 503,
  field: string,
  reason: string,
  message: string,
  remedy: string,
  report: Report,
): BackendRef {
  report.error(field, { reason, message: `${message}, so requests get ${status}`, remedy });
  return { kind: "broken", action: { kind: "reply", status, reason: message } };
}

const SERVICE_REMEDY = "Write service: {name: …, port: {number: …}}";
const PORT_REMEDY = "Write port: {number: 80} or port: {name: http}";
