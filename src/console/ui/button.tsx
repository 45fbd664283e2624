import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

export interface ButtonProps {
  readonly onClick?: (event: MouseEvent) => void;
  readonly kind?: "plain" | "primary" | "danger" | "quiet";
  readonly icon?: IconName;
  readonly disabled?: boolean;
  /** Says more than the text, or what keys do the same. */
  readonly title?: string;
  readonly type?: "button" | "submit";
  readonly pressed?: boolean;
  readonly children: ComponentChildren;
}

export function Button({ kind = "plain", icon, pressed, children, ...attributes }: ButtonProps) {
  return (
    <button type="button" {...attributes} class={`button ${kind}`} aria-pressed={pressed}>
      {icon === undefined ? null : <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

export interface IconButtonProps extends Pick<ButtonProps, "onClick" | "disabled" | "pressed"> {
  readonly icon: IconName;
  /** Its action, for screen readers and as its tooltip. */
  readonly label: string;
  /** Keys that do the same, for the tooltip. */
  readonly keys?: string;
}

export function IconButton({ icon, label, pressed, keys, ...attributes }: IconButtonProps) {
  return (
    <button
      {...attributes}
      class="icon-button"
      type="button"
      aria-label={label}
      aria-pressed={pressed}
      title={keys === undefined ? label : `${label} (${keys})`}
    >
      <Icon name={icon} />
    </button>
  );
}
