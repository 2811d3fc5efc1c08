/** Options of the translation in tests. In: nothing. Out: those of a controller with one flag, for a test to change. */
import type { TranslateOptions } from "../../controller/translate/translator.ts";

export const TRANSLATE_OPTIONS: TranslateOptions = {
  ingressClasses: ["pingress"],
  controllerNames: ["pingress.io/ingress-controller"],
  watchIngressWithoutClass: false,
  defaultBackend: null,
  allowExternalName: false,
  acceptUnsupported: [],
  allowAcceptUnsupportedAnnotation: false,
  defaultCertificate: null,
  allowLocalEndpoints: false,
  hostOwnership: "namespace",
  version: { epoch: "test", seen: {} },
};
