/**
 * Plots of a case. In: its results. Out: SVGs that are read on light and on dark pages: what each
 * peer costs, or, where the case is about them, its latencies or its memory.
 */
import { type CustomSeriesOption, type EChartsOption, init } from "echarts";
import {
  cpu,
  type Figure,
  figureOf,
  median,
  number,
  OURS,
  type PeerRounds,
  type Round,
} from "./report.ts";
import { type CaseResults } from "./results.ts";

export interface Plot {
  /** Of its file, without ending. */
  readonly name: string;
  /** What it shows, also for who cannot see it. */
  readonly title: string;
  readonly svg: string;
}

/** Colours of light pages, and what stands for them on dark ones; each is used for one thing. */
const COLOURS = {
  text: ["#1f2328", "#f0f6fc"],
  lines: ["#d1d9e0", "#3d444d"],
  first: ["#0969da", "#4493f8"],
  second: ["#9ac7f7", "#1f4f8f"],
  third: ["#bf8700", "#d29922"],
} as const;

const [TEXT, LINES, FIRST, SECOND, THIRD] = Object.values(COLOURS).map(([light]) => light);

const WIDTH = 760;
/** For each bar, and for what is above and below all of them. */
const BAR_HEIGHT = 24;
const FRAME_HEIGHT = 110;

/** What the case is about first: latencies, memory of what rests, or CPU; and memory of what is held. */
export function plotsOf(results: CaseResults): Plot[] {
  const rounds = results.peers.flatMap((one) => one.rounds);
  const held = rounds.some(({ heldBytes }) => heldBytes !== null);
  const rests = rounds.some(({ restCpu }) => restCpu !== null);
  return [
    ...(results.pace !== null ? [plotOfTails(results)] : rests ? [] : [plotOfCpu(results)]),
    ...(held ? [plotOfMemory(results)] : []),
  ];
}

function plotOfCpu({ case: name, unit, peers }: CaseResults): Plot {
  const title = `${name}: CPU time per ${unit}, in µs`;
  return draw(name, title, peers, BAR_HEIGHT, {
    ...barsTo({ name: "µs" }),
    series: [
      bars("user", FIRST, peers.map(middle((round) => round.user)), "cpu"),
      bars("system", SECOND, peers.map(middle((round) => round.system)), "cpu"),
      spreads(peers.map(({ rounds }) => figureOf(rounds.map(cpu)))),
    ],
  });
}

function plotOfMemory({ case: name, unit, streams, peers }: CaseResults): Plot {
  const thing = unit === "connection" || streams === 1 ? "connection" : "stream";
  const title = `${name}: memory of each ${thing} held, in KiB`;
  const kibibytes = ({ rounds }: PeerRounds) =>
    rounds.flatMap(({ heldBytes }) => heldBytes === null ? [] : [heldBytes / 1024]);
  const figures = peers.map((peer) => figureOf(kibibytes(peer)));
  return draw(`${name}-memory`, title, peers, BAR_HEIGHT, {
    ...barsTo({ name: "KiB" }),
    series: [
      bars(`KiB/${thing}`, FIRST, figures.map((figure) => figure?.median ?? null)),
      spreads(figures),
    ],
  });
}

function plotOfTails({ case: name, rate, peers }: CaseResults): Plot {
  const title = `${name}: latencies at ${rate} requests/s, in ms`;
  const series = [
    ["p50", SECOND, (round: Round) => round.p50],
    ["p99", FIRST, (round: Round) => round.p99],
    ["p99.9", THIRD, (round: Round) => round.p999],
  ] as const;
  return draw(name, title, peers, 2 * BAR_HEIGHT, {
    // From the fastest to the slowest there are orders of magnitude.
    ...barsTo({ name: "ms", type: "log" }),
    series: series.map(([label, colour, of]) => ({
      ...bars(label, colour, peers.map(middle(of))),
      label: {
        show: true,
        position: "right" as const,
        fontSize: 10,
        color: TEXT,
        formatter: ({ value }: { readonly value: unknown }) =>
          typeof value === "number" ? number(value) : "",
      },
    })),
  });
}

function middle(of: (round: Round) => number | null): (peer: PeerRounds) => number | null {
  return ({ rounds }) => {
    const values = rounds.map(of).filter((value) => value !== null);
    return values.length === 0 ? null : median(values);
  };
}

/** The axis along which bars reach. */
function barsTo({ name, type = "value" }: { name: string; type?: "value" | "log" }): EChartsOption {
  return {
    xAxis: {
      type,
      name,
      nameLocation: "middle",
      nameGap: 26,
      nameTextStyle: { color: TEXT },
      axisLabel: { color: TEXT },
      axisLine: { lineStyle: { color: LINES } },
      splitLine: { lineStyle: { color: LINES } },
    },
  };
}

function bars(name: string, colour: string, data: readonly (number | null)[], stack?: string) {
  return {
    type: "bar" as const,
    name,
    data: data.map((value) => value ?? "-"),
    itemStyle: { color: colour },
    ...(stack === undefined ? { barGap: "10%" } : { stack }),
  };
}

/** From the lowest to the highest round, with the median in figures beside it. */
function spreads(figures: readonly (Figure | null)[]): CustomSeriesOption {
  return {
    type: "custom",
    silent: true,
    z: 10,
    data: figures.flatMap((figure, at) =>
      figure === null ? [] : [[figure.high, at, figure.low, figure.median]]
    ),
    // Only the highest decides how far the axis reaches.
    encode: { x: 0, y: 1 },
    renderItem(_, api) {
      const at = api.value(1);
      const [right, y] = api.coord([api.value(0), at]);
      const [left] = api.coord([api.value(2), at]);
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line" as const,
        shape: { x1, y1, x2, y2 },
        style: { stroke: TEXT, lineWidth: 1 },
      });
      return {
        type: "group",
        children: [
          line(left, y, right, y),
          line(left, y - 4, left, y + 4),
          line(right, y - 4, right, y + 4),
          {
            type: "text",
            style: {
              ...{ x: right + 6, y, verticalAlign: "middle", fontSize: 11, fill: TEXT },
              text: number(Number(api.value(3))),
            },
          },
        ],
      };
    },
  };
}

function draw(
  name: string,
  title: string,
  peers: readonly PeerRounds[],
  height: number,
  option: EChartsOption,
): Plot {
  const size = { width: WIDTH, height: FRAME_HEIGHT + height * peers.length };
  const chart = init(null, null, { renderer: "svg", ssr: true, ...size });
  try {
    chart.setOption({
      animation: false,
      title: { text: title, left: 12, top: 8, textStyle: { color: TEXT, fontSize: 14 } },
      legend: { left: 110, top: 32, itemHeight: 10, textStyle: { color: TEXT } },
      grid: { left: 110, right: 60, top: 60, bottom: 44 },
      yAxis: {
        type: "category",
        // As in the table, from above.
        inverse: true,
        data: peers.map(({ peer }) => peer),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: LINES } },
        axisLabel: {
          color: TEXT,
          interval: 0,
          formatter: (peer: string) => peer === OURS ? `{ours|${peer}}` : peer,
          rich: { ours: { color: TEXT, fontWeight: "bold" } },
        },
      },
      ...option,
    });
    return { name, title, svg: plain(chart.renderToSVGString(), title) };
  } finally {
    chart.dispose();
  }
}

/** The same each time, without what answers a mouse, and with colours for dark pages. */
function plain(svg: string, title: string): string {
  const dark = Object.values(COLOURS).map(([light, dark]) =>
    `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`
  ).join("");
  const style = `<style>@media (prefers-color-scheme:dark){${dark}}</style>`;
  return svg.replace(/<style ?>.*?<\/style>\n*/s, "")
    .replace(/ (class|pointer-events|ecmeta_\w+)="[^"]*"/g, "")
    .replace(/^<svg /, `<svg role="img" aria-label="${title}" `)
    .replace(/>\n/, `>\n${style}\n`)
    .concat("\n");
}
