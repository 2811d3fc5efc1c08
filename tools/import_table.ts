/**
 * Which folder may import which. In: nothing. Out: a row for each folder of shared, controller and
 * proxy, and for each file that stands directly in controller or proxy; `import_rules.ts` holds the
 * code to it, for imports of types too.
 *
 * Folders import in one direction only: following the rows never leads back. To add an edge, add it
 * here, and see that no row has to change for it; to add a folder, add its row.
 */

/** Rows of `shared` name all that they import. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  "shared": ["shared/net"],
  "shared/admin": ["shared", "shared/net"],
  "shared/host": [],
  "shared/net": [],
  "shared/path": [],
  "shared/snapshot": ["shared", "shared/host", "shared/net", "shared/path"],
  "shared/stream": ["shared", "shared/host", "shared/snapshot"],
};

/** Every row of controller and proxy may import all of shared besides. */
const CONTROLLER: Readonly<Record<string, readonly string[]>> = {
  "controller/base": [],
  "controller/cli": [
    "controller/base",
    "controller/kube",
    "controller/translate",
    "controller/translate/annotations/nginx",
    "controller/translate/backends",
    "controller/translate/bounds",
    "controller/translate/certificates",
    "controller/translate/hosts",
  ],
  "controller/kube": [],
  "controller/main.ts": ["controller/cli", "controller/kube", "controller/process"],
  "controller/metrics.ts": ["controller/kube"],
  "controller/outputs": [
    "controller/cli",
    "controller/kube",
    "controller/metrics.ts",
    "controller/outputs/events",
    "controller/outputs/publish",
    "controller/outputs/status",
    "controller/outputs/workload",
    "controller/outputs/write",
    "controller/problems",
    "controller/reconcile",
    "controller/stream",
    "controller/stream/ca",
    "controller/translate/model",
    "controller/watch",
  ],
  "controller/outputs/events": ["controller/kube", "controller/outputs/write"],
  "controller/outputs/publish": [
    "controller/base",
    "controller/kube",
    "controller/outputs/workload",
    "controller/outputs/write",
    "controller/reconcile",
    "controller/translate/hosts",
  ],
  "controller/outputs/status": [
    "controller/base",
    "controller/kube",
    "controller/outputs/workload",
    "controller/outputs/write",
  ],
  "controller/outputs/workload": [
    "controller/base",
    "controller/cli",
    "controller/kube",
    "controller/outputs/write",
  ],
  "controller/outputs/write": ["controller/kube"],
  "controller/problems": ["controller/base", "controller/kube"],
  "controller/process": [
    "controller/cli",
    "controller/kube",
    "controller/metrics.ts",
    "controller/outputs",
    "controller/outputs/publish",
    "controller/outputs/workload",
    "controller/reconcile",
    "controller/stream",
    "controller/translate",
    "controller/watch",
  ],
  "controller/reconcile": [
    "controller/base",
    "controller/kube",
    "controller/outputs/write",
    "controller/translate",
    "controller/translate/routes",
  ],
  "controller/stream": [
    "controller/cli",
    "controller/kube",
    "controller/metrics.ts",
    "controller/outputs/workload",
    "controller/outputs/write",
    "controller/stream/ca",
    "controller/watch",
  ],
  "controller/stream/ca": [
    "controller/base",
    "controller/kube",
    "controller/outputs/workload",
    "controller/outputs/write",
  ],
  "controller/translate": [
    "controller/base",
    "controller/kube",
    "controller/translate/backends",
    "controller/translate/bounds",
    "controller/translate/certificates",
    "controller/translate/hosts",
    "controller/translate/ingress",
    "controller/translate/model",
    "controller/translate/routes",
  ],
  "controller/translate/annotations": ["controller/base"],
  "controller/translate/annotations/nginx": [
    "controller/base",
    "controller/translate/annotations/nginx/rows",
    "controller/translate/model",
  ],
  "controller/translate/annotations/nginx/rows": [],
  "controller/translate/backends": [
    "controller/base",
    "controller/kube",
    "controller/translate/annotations",
    "controller/translate/certificates",
    "controller/translate/model",
  ],
  "controller/translate/bounds": [
    "controller/base",
    "controller/kube",
    "controller/translate/model",
  ],
  "controller/translate/certificates": [
    "controller/base",
    "controller/translate/hosts",
    "controller/translate/model",
  ],
  "controller/translate/hosts": [
    "controller/base",
    "controller/translate/annotations",
    "controller/translate/model",
  ],
  "controller/translate/ingress": [
    "controller/base",
    "controller/kube",
    "controller/translate/annotations",
    "controller/translate/annotations/nginx",
    "controller/translate/hosts",
    "controller/translate/model",
  ],
  "controller/translate/model": ["controller/base", "controller/kube"],
  "controller/translate/routes": [
    "controller/base",
    "controller/translate/annotations",
    "controller/translate/annotations/nginx",
    "controller/translate/backends",
    "controller/translate/hosts",
    "controller/translate/model",
  ],
  "controller/watch": [
    "controller/base",
    "controller/kube",
    "controller/outputs/events",
    "controller/outputs/publish",
    "controller/outputs/workload",
    "controller/reconcile",
    "controller/translate/annotations",
    "controller/translate/annotations/nginx",
    "controller/translate/annotations/nginx/rows",
    "controller/translate/backends",
    "controller/translate/certificates",
    "controller/translate/ingress",
    "controller/translate/routes",
  ],
};

const PROXY: Readonly<Record<string, readonly string[]>> = {
  "proxy/certificates": [],
  "proxy/cli": ["proxy/config/stream", "proxy/http"],
  "proxy/config": ["proxy/certificates"],
  "proxy/config/stream": ["proxy/config"],
  "proxy/errors.ts": [],
  "proxy/filters": ["proxy/errors.ts", "proxy/filters/access", "proxy/grpc", "proxy/http"],
  "proxy/filters/access": ["proxy/errors.ts", "proxy/http"],
  "proxy/forward": [
    "proxy/certificates",
    "proxy/errors.ts",
    "proxy/filters",
    "proxy/filters/access",
    "proxy/grpc",
    "proxy/http",
    "proxy/http1",
    "proxy/http2",
    "proxy/io",
    "proxy/listen",
    "proxy/route",
    "proxy/router",
    "proxy/telemetry",
    "proxy/upstream",
  ],
  "proxy/grpc": ["proxy/errors.ts", "proxy/http", "proxy/io"],
  "proxy/http": ["proxy/errors.ts", "proxy/io"],
  "proxy/http1": ["proxy/errors.ts", "proxy/grpc", "proxy/http", "proxy/io"],
  "proxy/http2": [
    "proxy/errors.ts",
    "proxy/grpc",
    "proxy/http",
    "proxy/http2/frame",
    "proxy/http2/hpack",
    "proxy/io",
  ],
  "proxy/http2/frame": ["proxy/http", "proxy/http2/hpack", "proxy/io"],
  "proxy/http2/hpack": ["proxy/http"],
  "proxy/io": ["proxy/errors.ts"],
  "proxy/listen": ["proxy/certificates", "proxy/http", "proxy/io"],
  "proxy/main.ts": ["proxy/process"],
  "proxy/process": [
    "proxy/certificates",
    "proxy/cli",
    "proxy/config",
    "proxy/config/stream",
    "proxy/http",
    "proxy/listen",
    "proxy/router",
    "proxy/server.ts",
    "proxy/telemetry",
  ],
  "proxy/route": [
    "proxy/certificates",
    "proxy/config",
    "proxy/errors.ts",
    "proxy/filters",
    "proxy/http",
    "proxy/http1",
    "proxy/http2",
    "proxy/router",
    "proxy/telemetry",
    "proxy/upstream",
  ],
  "proxy/router": ["proxy/http"],
  "proxy/server.ts": [
    "proxy/certificates",
    "proxy/config",
    "proxy/errors.ts",
    "proxy/forward",
    "proxy/grpc",
    "proxy/http",
    "proxy/http1",
    "proxy/http2",
    "proxy/io",
    "proxy/listen",
    "proxy/route",
    "proxy/server_options.ts",
    "proxy/telemetry",
    "proxy/upstream",
  ],
  "proxy/server_options.ts": ["proxy/filters", "proxy/http", "proxy/listen", "proxy/telemetry"],
  "proxy/telemetry": [
    "proxy/config/stream",
    "proxy/errors.ts",
    "proxy/http",
    "proxy/http2",
    "proxy/upstream",
  ],
  "proxy/upstream": ["proxy/errors.ts", "proxy/io"],
};

export const FOLDERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({ ...SHARED, ...CONTROLLER, ...PROXY }),
);

/** Product files that one folder holds at most, tests aside. */
export const MAX_FILES = 25;

/** Folders and files that stand directly in controller or proxy, at most. */
export const MAX_BOXES: Readonly<Record<string, number>> = { controller: 16, proxy: 20 };

/** The row of a file: its folder, or the file itself where that is the program's own. */
export function rowOf(path: string): string {
  return /^(?:controller|proxy)\/[^/]+$/.test(path) ? path : path.slice(0, path.lastIndexOf("/"));
}
