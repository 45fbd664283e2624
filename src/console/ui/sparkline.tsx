export interface SparklineProps {
  readonly values: readonly number[];
  /** Number of values that fill the width. */
  readonly length: number;
  /** Description for screen readers. */
  readonly label: string;
}

const HEIGHT = 20;
/** Fewer would be a dot. */
const LEAST_VALUES = 6;

/** A small chart without axes. The newest value is at the right. */
export function Sparkline({ values, length, label }: SparklineProps) {
  const shown = values.slice(-length);
  const most = Math.max(1, ...shown);
  const x = (index: number): number => length - shown.length + index;
  const y = (value: number): string => (HEIGHT - 1 - (value / most) * (HEIGHT - 3)).toFixed(1);
  const line = shown.map((value, index) => `${x(index)} ${y(value)}`).join("L");
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${length - 1} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="sparkline-base" d={`M0 ${HEIGHT - 1}H${length - 1}`} />
      {shown.length < LEAST_VALUES ? null : (
        <>
          <path class="sparkline-area" d={`M${line}L${length - 1} ${HEIGHT}L${x(0)} ${HEIGHT}Z`} />
          <path class="sparkline-line" d={`M${line}`} />
        </>
      )}
    </svg>
  );
}
