import type { ComponentChildren } from "preact";
import { Icon } from "./icon.tsx";

export interface ErrorBoxProps {
  readonly text: string;
  readonly remedy?: string | undefined;
  /** Buttons. */
  readonly children?: ComponentChildren;
}

/** An error, and its remedy. */
export function ErrorBox({ text, remedy, children }: ErrorBoxProps) {
  return (
    <div class="error-box" role="alert">
      <Icon name="warning" />
      <div class="error-box-text">
        <p>{text}</p>
        {remedy === undefined ? null : <p>{remedy}</p>}
      </div>
      {children}
    </div>
  );
}
