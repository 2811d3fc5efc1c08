/** The dashboards as files; tests/neighbours runs their queries. */
import assert from "node:assert/strict";
import { CONTROLLER_METRICS } from "../../controller/metrics.ts";
import { METRICS } from "../../proxy/telemetry/catalogue.ts";
import { ALERT_GROUPS } from "../alerts/groups.ts";
import { EVERYWHERE } from "../alerts/scope.ts";
import { DASHBOARDS_PAGE, dashboardsPage } from "../dashboards_page.ts";
import { dashboardFiles } from "./dashboard_files.ts";

const COLUMNS = 24;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly {
    readonly expr: string;
    readonly refId: string;
    readonly legendFormat?: string;
  }[];
}

const read = (path: string) => Deno.readTextFileSync(new URL(`../../${path}`, import.meta.url));

for (const [path, text] of [...dashboardFiles(), [DASHBOARDS_PAGE, dashboardsPage()]]) {
  Deno.test(`${path} matches the code`, () => {
    assert.equal(read(path), text, "run deno task docs:update");
  });
}

for (const [path, text] of dashboardFiles()) {
  const { uid, panels }: { uid: string; panels: readonly Panel[] } = JSON.parse(text);

  Deno.test(`the panels of ${uid} have a title, a description and no place in common`, () => {
    assert.ok(path.endsWith(`/${uid.replace("pingress-", "")}.json`));
    const taken = new Set<string>();
    const titles = new Set<string>();
    let row = "";
    for (const { type, title, description, gridPos: { x, y, w, h } } of panels) {
      if (type === "row") row = title;
      else assert.ok((description ?? "").endsWith("."), title);
      assert.ok(!titles.has(`${row} ${title}`), `${title} twice`);
      titles.add(`${row} ${title}`);
      assert.ok(x + w <= COLUMNS, title);
      for (let column = x; column < x + w; column++) {
        for (let line = y; line < y + h; line++) {
          assert.ok(!taken.has(`${column} ${line}`), `${title} overlaps`);
          taken.add(`${column} ${line}`);
        }
      }
    }
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  });

  Deno.test(`the queries of ${uid} keep the labels that their legends name`, () => {
    for (const { title, targets = [] } of panels) {
      assert.deepEqual(
        targets.map(({ refId }) => refId),
        targets.map((_, index) => String.fromCharCode(65 + index)),
      );
      for (const { expr, legendFormat = "" } of targets) {
        const kept = /(?:sum|min|max|count) by \(([^)]*)\)/.exec(expr)?.[1].split(", ");
        if (kept === undefined) continue;
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          assert.ok(kept.includes(label), `${title}: ${expr} has no ${label}`);
        }
      }
    }
  });
}

Deno.test("queries of proxies and controllers are of the chosen installation", () => {
  for (const name of ["controller", "fleet"]) {
    const text = read(`charts/pingress/files/dashboards/${name}.json`);
    const { panels, templating }: {
      panels: readonly Panel[];
      templating: { list: readonly { name: string }[] };
    } = JSON.parse(text);
    assert.ok(templating.list.some(({ name }) => name === "installation"), name);
    for (const { expr } of panels.flatMap(({ targets = [] }) => targets)) {
      const [first, ...others] = Array.from(
        expr.matchAll(/\b(?:pingress|process)_\w+(\{[^}]*\})?/g),
        ([, matchers = ""]) => matchers.includes('namespace=~"$installation"'),
      );
      // What it is joined with by job and instance may be of all.
      assert.ok(first && (others.every(Boolean) || expr.includes(" on (job, instance) ")), expr);
    }
  }
});

/** Labels of which a cluster may have thousands of values. A controller has a few replicas. */
const MANY = /\{\{(host|service|route|certificate|instance|worker)\}\}/;

Deno.test("a graph has ten lines at most of each query, and says so, however many there are", () => {
  let queries = 0;
  for (const [path, text] of dashboardFiles()) {
    if (path.endsWith("/controller.json")) continue;
    const { panels }: { panels: readonly Panel[] } = JSON.parse(text);
    for (const { title, type, description = "", targets = [] } of panels) {
      if (type !== "timeseries") continue;
      for (const { expr, legendFormat = "" } of targets) {
        if (!MANY.test(legendFormat)) continue;
        queries++;
        assert.match(expr, /^(top|bottom)k\(10, /, `${path} ${title}`);
        assert.match(description, /\b[Tt]en\b/, `${path} ${title}`);
      }
    }
  }
  assert.ok(queries > 20);
});

Deno.test("links of dashboards lead to dashboards", () => {
  const ids = dashboardFiles().map(([, text]) => JSON.parse(text).uid);
  const links = dashboardFiles().flatMap(([, text]) => [...text.matchAll(/"\/d\/([\w-]+)\?/g)]);
  assert.ok(links.length > 0);
  for (const [, id] of links) assert.ok(ids.includes(id), id);
});

/** Metrics that neither a panel nor an alert shows, and why nobody would look there for them. */
const UNSHOWN: Readonly<
  Partial<Record<keyof typeof METRICS | keyof typeof CONTROLLER_METRICS, string>>
> = {
  pingress_snapshot_age_seconds:
    "is high wherever nothing changes: the time since the last sync counts",
  pingress_snapshot_info: "compares two proxies by hand",
  pingress_snapshot_resource_version: "compares two proxies by hand",
  pingress_snapshot_upstreams: "follows from the routes, which have a panel",
  pingress_controller_stream_sent_bytes_total: "follows from the updates, by kind",
  pingress_controller_token_reviews_total:
    "shows as rejected streams, and as calls of the API server",
  pingress_controller_memory_bytes: "is the same as process_resident_memory_bytes",
  pingress_controller_info: "is a part of pingress_build_info",
};

Deno.test("every metric has a panel or an alert, or a reason for neither", () => {
  const expressions = [
    ...dashboardFiles().flatMap(([, text]) => {
      const { panels }: { panels: readonly Panel[] } = JSON.parse(text);
      return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    }),
    ...ALERT_GROUPS.flatMap(({ recordings = [], alerts }) =>
      [...recordings, ...alerts].map(({ expression }) => expression(EVERYWHERE))
    ),
  ];
  const shown = new Set(
    expressions.flatMap((text) => text.match(/\b(?:pingress|process)_\w+/g) ?? [])
      .flatMap((name) => [name, name.replace(/_(?:bucket|sum|count)$/, "")]),
  );
  for (const name of Object.keys({ ...METRICS, ...CONTROLLER_METRICS })) {
    assert.equal(shown.has(name), !(name in UNSHOWN), name);
  }
});
