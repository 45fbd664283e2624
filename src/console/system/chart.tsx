import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../frame/theme.ts";
import { formatBytes } from "../ui/format.ts";
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
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const { times, values } = history.of(figure);
  const colours = theme.value;
  useEffect(() => {
    const element = place.current!;
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
      <div ref={place} role="img" aria-label={`${figure.title}: ${text}`} />
    </figure>
  );
}

function options(figure: Figure, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name);
  const axis: uPlot.Axis = {
    stroke: resolve(element, colour("--text-faint")),
    grid: { stroke: resolve(element, colour("--line-soft")), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high * 1.15, smallest(figure))] } },
    axes: [
      { ...axis, size: 28, space: 80, values: (_plot, ticks) => ticks.map(clockTime) },
      { ...axis, size: 64, space: 36, values: (_plot, ticks) => ticks.map((tick) => format(figure, tick)) },
    ],
    series: [
      {},
      {
        stroke: resolve(element, colour("--accent")),
        fill: resolve(element, colour("--accent-soft")),
        width: 1.5,
        points: { show: false },
      },
    ],
  };
}

/** A canvas does not know `light-dark()`; what an element makes of it does. */
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
function smallest({ unit }: Figure): number {
  return unit === "seconds" ? 0.05 : unit === "percent" ? 10 : unit === "bytes" ? 1000 : 5;
}

function format({ unit }: Figure, value: number): string {
  if (unit === "bytes") return formatBytes(value);
  if (unit === "seconds") return `${(value * 1000).toFixed(value < 0.01 ? 1 : 0)} ms`;
  if (unit === "percent") return `${value.toFixed(value < 10 ? 1 : 0)} %`;
  return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}
