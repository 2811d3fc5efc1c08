/**
 * One object of each kind that commands read, with as many fields as possible. In: nothing. Out: what a folder may
 * hold, which is all served or reported.
 */

const WEB = { service: { name: "web", port: { number: 80 } } };
const NGINX = "nginx.ingress.kubernetes.io/";
const GATEWAY = "gateway.networking.k8s.io/v1";
/** Ingresses of app.test and plain.test, an HTTPRoute of shop.gw.test, and what they name. */
export const SAMPLE_OBJECTS: readonly Readonly<Record<string, unknown>>[] = [
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: {
      name: "nginx",
      creationTimestamp: "2025-01-01T00:00:00Z",
      annotations: {
        "ingressclass.kubernetes.io/is-default-class": "true",
        "pingress.io/profile": "nginx",
      },
    },
    spec: { controller: "k8s.io/ingress-nginx", parameters: { kind: "X", name: "y" } },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: {
      name: "pingress",
      creationTimestamp: "2025-01-01T00:00:00Z",
      annotations: { "ingressclass.kubernetes.io/is-default-class": "true" },
    },
    spec: { controller: "pingress.io/ingress-controller" },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "app",
      namespace: "default",
      creationTimestamp: "2025-01-01T00:00:00Z",
      labels: { app: "web" },
      annotations: {
        [NGINX + "rewrite-target"]: "/",
        [NGINX + "auth-url"]: "http://auth.default.svc.cluster.local:8000/check",
        [NGINX + "whitelist-source-range"]: "10.0.0.0/8",
        [NGINX + "server-alias"]: "b.test",
        [NGINX + "proxy-read-timeout"]: "5",
        [NGINX + "configuration-snippet"]: "deny all;",
        [NGINX + "custom-http-errors"]: "404",
        [NGINX + "default-backend"]: "web",
        [NGINX + "brew"]: "x",
      },
    },
    spec: {
      ingressClassName: "nginx",
      defaultBackend: WEB,
      tls: [{ hosts: ["app.test"], secretName: "cert" }],
      rules: [{
        host: "app.test",
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: WEB }, {
            path: "/api",
            pathType: "Exact",
            backend: { service: { name: "ext", port: { name: "http" } } },
          }],
        },
      }],
    },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "plain",
      annotations: {
        "kubernetes.io/ingress.class": "pingress",
        "pingress.io/accept-unsupported": "limit-rps",
      },
    },
    spec: {
      tls: [{}],
      rules: [{
        host: "*.test",
        http: {
          paths: [{
            pathType: "ImplementationSpecific",
            path: "/x",
            backend: { resource: { kind: "Bucket", name: "b", apiGroup: "x" } },
          }, { pathType: "Prefix", path: "/y", backend: WEB }],
        },
      }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "web",
      namespace: "default",
      annotations: {
        "dev.pingress.io/endpoint": "http=127.0.0.1:3000",
        "pingress.io/upstream-tls-ca": "ca",
      },
      labels: { a: "b" },
    },
    spec: {
      type: "ClusterIP",
      selector: { a: "b" },
      ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP", appProtocol: "https" }, {
        name: "other",
        port: 81,
      }],
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "auth" },
    spec: { ports: [{ port: 8000 }] },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "ext" },
    spec: {
      type: "ExternalName",
      externalName: "a.example.com",
      ports: [{ name: "http", port: 80 }],
    },
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{
      addresses: ["10.0.0.1"],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: "n",
      zone: "z",
    }, { addresses: ["127.0.0.1"], conditions: { ready: false } }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "auth-1", labels: { "kubernetes.io/service-name": "auth" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
    ports: [{ port: 8080 }],
  },
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "cert" },
    type: "kubernetes.io/tls",
    data: { "tls.crt": "eHg=", "tls.key": "eHg=" },
    stringData: { "tls.crt": "x" },
  },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "conf", namespace: "edge" },
    data: {
      "proxy-body-size": "1m",
      "global-auth-url": "http://auth.default.svc:8000/",
      "block-cidrs": "10.0.0.0/8",
      "brew": "x",
    },
  },
  {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: "default",
      labels: { a: "b" },
      annotations: { "pingress.io/hosts": "app.test" },
    },
  },
  {
    apiVersion: GATEWAY,
    kind: "GatewayClass",
    metadata: { name: "mine" },
    spec: {
      controllerName: "pingress.io/gateway-controller",
      parametersRef: { group: "", kind: "ConfigMap", name: "conf", namespace: "edge" },
    },
  },
  {
    apiVersion: GATEWAY,
    kind: "Gateway",
    metadata: { name: "web" },
    spec: {
      gatewayClassName: "pingress",
      addresses: [{ type: "IPAddress", value: "1.2.3.4" }],
      infrastructure: { labels: { a: "b" }, annotations: { a: "b" } },
      listeners: [{
        name: "http",
        port: 80,
        protocol: "HTTP",
        hostname: "*.gw.test",
        allowedRoutes: {
          namespaces: {
            from: "Selector",
            selector: {
              matchLabels: { a: "b" },
              matchExpressions: [{ key: "a", operator: "In", values: ["b"] }],
            },
          },
          kinds: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute" }],
        },
      }, {
        name: "https",
        port: 443,
        protocol: "HTTPS",
        tls: {
          mode: "Terminate",
          certificateRefs: [{ kind: "Secret", name: "cert" }],
          options: { a: "b" },
        },
      }],
    },
  },
  {
    apiVersion: GATEWAY,
    kind: "HTTPRoute",
    metadata: { name: "shop" },
    spec: {
      parentRefs: [{ name: "web", sectionName: "http", port: 80 }],
      hostnames: ["shop.gw.test"],
      rules: [{
        name: "r",
        matches: [{
          path: { type: "PathPrefix", value: "/a" },
          method: "GET",
          headers: [{ name: "x", type: "Exact", value: "y" }],
          queryParams: [{ name: "q", value: "1" }],
        }],
        filters: [{
          type: "RequestHeaderModifier",
          requestHeaderModifier: {
            set: [{ name: "a", value: "b" }],
            add: [{ name: "c", value: "d" }],
            remove: ["e"],
          },
        }, {
          type: "URLRewrite",
          urlRewrite: {
            hostname: "h.test",
            path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/z" },
          },
        }],
        timeouts: { request: "1s", backendRequest: "1s" },
        backendRefs: [{
          name: "web",
          port: 80,
          weight: 1,
          filters: [{
            type: "ResponseHeaderModifier",
            responseHeaderModifier: { set: [{ name: "a", value: "b" }] },
          }],
        }, { name: "auth", namespace: "default", port: 8000 }],
      }, {
        filters: [{
          type: "RequestRedirect",
          requestRedirect: {
            scheme: "https",
            hostname: "x.test",
            port: 443,
            statusCode: 301,
            path: { type: "ReplaceFullPath", replaceFullPath: "/b" },
          },
        }],
      }],
    },
  },
  {
    apiVersion: "gateway.networking.k8s.io/v1beta1",
    kind: "ReferenceGrant",
    metadata: { name: "g" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "x" }],
      to: [{ group: "", kind: "Service", name: "web" }],
    },
  },
  {
    apiVersion: GATEWAY,
    kind: "BackendTLSPolicy",
    metadata: { name: "p" },
    spec: {
      targetRefs: [{ group: "", kind: "Service", name: "web", sectionName: "http" }],
      validation: {
        hostname: "w.test",
        caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "conf" }],
      },
    },
  },
  {
    apiVersion: GATEWAY,
    kind: "ListenerSet",
    metadata: { name: "l" },
    spec: { parentRef: { name: "web" }, listeners: [{ name: "x", port: 80, protocol: "HTTP" }] },
  },
  {
    apiVersion: GATEWAY,
    kind: "GRPCRoute",
    metadata: { name: "gr" },
    spec: { parentRefs: [{ name: "web" }] },
  },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "nginx", namespace: "edge" },
    spec: {
      template: {
        spec: {
          containers: [{
            image: "registry/ingress-nginx/controller:v1",
            command: ["/nginx-ingress-controller"],
            args: ["--configmap=edge/conf", "--tcp-services-configmap=a/b"],
          }],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "List",
    items: [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } }],
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressList",
    items: [{
      metadata: { name: "listed" },
      spec: {
        rules: [{
          host: "l.test",
          http: { paths: [{ path: "/", pathType: "Prefix", backend: WEB }] },
        }],
      },
    }],
  },
  {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    resources: ["a.yaml"],
    patches: [{ path: "b.yaml" }],
  },
];
