import { IconButton } from "./button.tsx";

export interface ProgressProps {
  /** What is being done. */
  readonly label: string;
  readonly value: number;
  /** Undefined while it is not known how much there is. */
  readonly max: number | undefined;
  /** What stands beside the bar, such as `12 of 200 MB`. */
  readonly text?: string;
  readonly onStop?: () => void;
}

/** How far something is, and a way to stop it. */
export function Progress({ label, value, max, text, onStop }: ProgressProps) {
  return (
    <div class="progress">
      <div class="progress-text">
        <span class="progress-label">{label}</span>
        <span class="number">{text}</span>
      </div>
      <progress aria-label={label} value={max === undefined ? undefined : value} max={max} />
      {onStop === undefined ? null : <IconButton icon="close" label={`Stop: ${label}`} onClick={onStop} />}
    </div>
  );
}
