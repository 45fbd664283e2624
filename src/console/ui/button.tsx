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

export function Button({
  onClick,
  kind = "plain",
  icon,
  disabled,
  title,
  type,
  pressed,
  children,
}: ButtonProps) {
  return (
    <button
      class={`button ${kind}`}
      type={type ?? "button"}
      onClick={onClick}
      disabled={disabled}
      title={title}
      aria-pressed={pressed}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

export interface IconButtonProps {
  readonly icon: IconName;
  /** What it does, for those who do not see the icon, and as its tooltip. */
  readonly label: string;
  readonly onClick?: (event: MouseEvent) => void;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  /** Keys that do the same, for the tooltip. */
  readonly keys?: string;
}

export function IconButton({ icon, label, onClick, disabled, pressed, keys }: IconButtonProps) {
  return (
    <button
      class="icon-button"
      type="button"
      aria-label={label}
      aria-pressed={pressed}
      title={keys === undefined ? label : `${label} (${keys})`}
      onClick={onClick}
      disabled={disabled}
    >
      <Icon name={icon} />
    </button>
  );
}
