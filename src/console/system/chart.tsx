import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../frame/theme.ts";
import { formatSize } from "../../base/amounts.ts";
import type { Figure, MetricHistory } from "./metric-history.ts";

const HEIGHT = 140;

export interface ChartProps {
  readonly figure: Figure;
  readonly history: MetricHistory;
  /** Changes with each new value. */
  readonly version: unknown;
}

/** One figure over time, with its newest value. */
export function Chart({ figure, history, version }: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const { times, values } = history.of(figure);
  const colours = theme.value;
  useEffect(() => {
    const element = container.current!;
    const drawn = new uPlot(options(figure, element), [[], []], element);
    plot.current = drawn;
    const observer = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      drawn.destroy();
    };
  }, [figure, colours]);
  useEffect(() => {
    plot.current?.setData([[...times], [...values]]);
  }, [version, colours]);
  const last = values.at(-1);
  const text = last === undefined ? "…" : format(figure, last);
  return (
    <figure class="system-chart">
      <figcaption>
        <span>{figure.title}</span>
        <strong class="number">{text}</strong>
      </figcaption>
      <div ref={container} role="img" aria-label={`${figure.title}: ${text}`} />
    </figure>
  );
}

function options(figure: Figure, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const axis: uPlot.Axis = {
    stroke: resolve(element, "var(--text-faint)"),
    grid: { stroke: resolve(element, "var(--line-soft)"), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      y: { range: (_plot, _low, high) => [0, Math.max(high * 1.15, MIN_RANGE[figure.unit ?? "count"])] },
    },
    axes: [
      { ...axis, size: 28, space: 80, values: (_plot, ticks) => ticks.map(clockTime) },
      { ...axis, size: 64, space: 36, values: (_plot, ticks) => ticks.map((tick) => format(figure, tick)) },
    ],
    series: [
      {},
      {
        stroke: resolve(element, "var(--accent)"),
        fill: resolve(element, "var(--accent-soft)"),
        width: 1.5,
        points: { show: false },
      },
    ],
  };
}

/** A canvas supports neither `var()` nor `light-dark()`; an element computes their values. */
function resolve(element: HTMLElement, colour: string): string {
  const before = element.style.color;
  element.style.color = colour;
  const computed = getComputedStyle(element).color;
  element.style.color = before;
  return computed;
}

function clockTime(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

/** The least that fills the height, so that noise does not look like load. */
const MIN_RANGE = { seconds: 0.05, percent: 10, bytes: 1000, count: 5 };

function format({ unit }: Figure, value: number): string {
  if (unit === "bytes") return formatSize(value);
  if (unit === "seconds") return `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms`;
  if (unit === "percent") return `${value.toFixed(value < 10 ? 1 : 0)} %`;
  return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}
