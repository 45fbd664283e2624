import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../frame/theme.ts";
import { formatSize } from "../../base/amounts.ts";

const HEIGHT = 140;

/** A value that changes over time. */
export interface Figure {
  readonly title: string;
  /** Default: it is a number of things. */
  readonly unit?: "bytes" | "percent";
}

export interface ChartProps {
  readonly figure: Figure;
  /** In milliseconds since the epoch, and the values at these times. */
  readonly atMs: readonly number[];
  readonly values: readonly number[];
}

/** One figure over time, with its newest value. */
export function Chart({ figure, atMs, values }: ChartProps) {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
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
    plot.current?.setData([atMs.map((at) => at / 1000), [...values]]);
  }, [values, colours]);
  const text = format(figure, values.at(-1) ?? 0);
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
      { ...axis, size: 28, space: 80, values: (_plot, ticks) => clockTimes(ticks) },
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

/** Without seconds where they are all zero. */
function clockTimes(ticks: readonly number[]): string[] {
  const length = ticks.every((tick) => tick % 60 === 0) ? "hh:mm".length : undefined;
  return ticks.map((tick) => new Date(tick * 1000).toLocaleTimeString("en-GB").slice(0, length));
}

/** The least that fills the height, so that noise does not look like load. */
const MIN_RANGE = { percent: 10, bytes: 1000, count: 5 };

function format({ unit }: Figure, value: number): string {
  if (unit === "bytes") return formatSize(value);
  if (unit === "percent") return `${value.toFixed(value < 10 ? 1 : 0)} %`;
  return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value).toLocaleString("en");
}
