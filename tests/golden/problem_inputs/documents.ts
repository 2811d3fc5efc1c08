/** Files and documents that are no objects, or of kinds that are not read. In: nothing. Out: a table. */
import { beside, type BrokenInput, INGRESS, ofIngress, ofService, SERVICE } from "./input.ts";

function nothing(input: BrokenInput): BrokenInput {
  return { ...input, needsNothing: true };
}

export const DOCUMENTS: readonly BrokenInput[] = [
  ofIngress("a misspelt kind", "kind: Ingress", "kind: Ingres"),
  ofIngress("a kind in lower case", "kind: Ingress", "kind: ingress"),
  ofIngress("a kind in the plural", "kind: Ingress", "kind: Ingresses"),
  ofService("a misspelt kind of Service", "kind: Service", "kind: Servic"),
  ofIngress("a misspelt key for the kind", "kind: Ingress", "knid: Ingress"),
  ofIngress("a misspelt key for the apiVersion", "apiVersion", "apiVerson"),
  ofIngress("a misspelt apiVersion", "networking.k8s.io/v1", "networking.k8s/v1"),
  ofIngress("an old apiVersion", "networking.k8s.io/v1", "networking.k8s.io/v1beta1"),
  ofIngress("the apiVersion of another kind", "networking.k8s.io/v1", "apps/v1"),
  ofIngress("no apiVersion", "apiVersion: networking.k8s.io/v1\n", ""),
  ofIngress("no kind", "kind: Ingress\n", ""),
  ofIngress("a kind that is a list", "kind: Ingress", "kind: [Ingress]"),
  ofIngress("no name", "  name: web\nspec", "  labels: {}\nspec"),
  ofIngress("a name with capitals", "  name: web\nspec", "  name: Web_1\nspec"),
  ofIngress("a name that is a number", "  name: web\nspec", "  name: 5\nspec"),
  ofIngress(
    "a namespace that is a number",
    "  name: web\nspec",
    "  name: web\n  namespace: 5\nspec",
  ),
  { name: "an object twice", files: { "a.yaml": `${INGRESS}---\n${SERVICE}---\n${SERVICE}` } },
  beside(
    "list.yaml",
    "- apiVersion: v1\n  kind: Service\n  metadata: { name: b }\n",
    "objects in a plain list",
  ),
  nothing(
    beside(
      "deployment.yaml",
      "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n",
      "a Deployment",
    ),
  ),
  nothing(
    beside(
      "crd.yaml",
      "apiVersion: traefik.io/v1alpha1\nkind: IngressRoute\nmetadata:\n  name: web\n",
      "a kind of another project",
    ),
  ),
  nothing(
    beside(
      "kustomize/kustomization.yaml",
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml]\n",
      "a kustomization with a kind",
    ),
  ),
  nothing(
    beside(
      "kustomize/kustomization.yaml",
      "resources: [web.yaml]\n",
      "a kustomization without a kind",
    ),
  ),
  nothing(
    beside("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n", "a Helm chart"),
  ),
  nothing(
    beside(
      "chart/values.yaml",
      "image:\n  password: hunter2\n",
      "values of a chart, of which nothing is shown",
    ),
  ),
  nothing(beside("package.json", '{ "name": "web" }\n')),
  nothing(beside("docker-compose.yml", "services:\n  web:\n    image: web\n")),
  nothing(beside("settings.yaml", "- a\n- b\n", "a list of settings")),
  beside(
    "grpc.yaml",
    "apiVersion: gateway.networking.k8s.io/v1\nkind: GRPCRoute\nmetadata:\n  name: web\n",
    "a GRPCRoute",
  ),
];
