import { IconButton } from "./button.tsx";

export interface ProgressProps {
  /** What is in progress. */
  readonly label: string;
  readonly value: number;
  /** Undefined while it is not known how much there is. */
  readonly max: number | undefined;
  /** Text beside the bar, such as `12 of 200 MiB`. */
  readonly text?: string;
  readonly onStop?: () => void;
}

/** A progress bar, and a way to stop. */
export function Progress({ label, value, max, text, onStop }: ProgressProps) {
  return (
    <div class="progress">
      <div class="progress-text">
        <span class="one-line">{label}</span>
        <span class="number">{text}</span>
      </div>
      <progress aria-label={label} value={max === undefined ? undefined : value} max={max} />
      {onStop === undefined ? null : <IconButton icon="close" label={`Stop: ${label}`} onClick={onStop} />}
    </div>
  );
}
