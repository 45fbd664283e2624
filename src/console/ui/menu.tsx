import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";
import { Keys } from "./keys.tsx";

export interface MenuItem {
  readonly id: string;
  readonly title: string;
  readonly icon?: IconName | undefined;
  readonly keys?: string | undefined;
  readonly danger?: boolean | undefined;
  readonly run: () => void;
}

export interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** A point of the window, or the element below which it opens. */
  readonly at: { readonly x: number; readonly y: number } | Element;
  readonly onClose: () => void;
}

const MARGIN_PX = 8;

/** A list of actions above the page, until one is chosen or it is left. */
export function Menu({ label, items, at, onClose }: MenuProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = element.current;
    if (menu === null) return;
    menu.showPopover();
    const { width, height } = menu.getBoundingClientRect();
    const box = at instanceof Element ? at.getBoundingClientRect() : undefined;
    const x = box === undefined ? (at as { x: number }).x : box.right - width;
    const below = box === undefined ? (at as { y: number }).y : box.bottom + 4;
    const above = (box?.top ?? below) - height - 4;
    menu.style.left = `${Math.max(MARGIN_PX, Math.min(x, innerWidth - width - MARGIN_PX))}px`;
    menu.style.top = `${below + height > innerHeight - MARGIN_PX ? Math.max(MARGIN_PX, above) : below}px`;
    const focused = document.activeElement;
    menu.querySelector("button")?.focus();
    return () => {
      // Only if nothing else has taken the focus.
      if (menu.contains(document.activeElement) && focused instanceof HTMLElement) focused.focus();
    };
  }, [at]);
  // A popover that dismisses itself would close when the right mouse button that has opened it is released. At once,
  // because the next click may come before the next frame.
  useLayoutEffect(() => {
    const onPointerDown = (event: Event): void => {
      if (!element.current?.contains(event.target as Node)) onClose();
    };
    addEventListener("pointerdown", onPointerDown, { capture: true });
    addEventListener("blur", onClose);
    return () => {
      removeEventListener("pointerdown", onPointerDown, { capture: true });
      removeEventListener("blur", onClose);
    };
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const buttons = [...(element.current?.querySelectorAll("button") ?? [])];
    const index = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "ArrowDown") buttons[(index + 1) % buttons.length]?.focus();
    else if (event.key === "ArrowUp") buttons.at((index - 1) % buttons.length)?.focus();
    else if (event.key === "Home") buttons[0]?.focus();
    else if (event.key === "End") buttons.at(-1)?.focus();
    else if (event.key === "Tab" || event.key === "Escape") onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" popover="manual" role="menu" aria-label={label} ref={element} onKeyDown={onKeyDown}>
      {items.map(({ id, title, icon, keys, danger, run }) => (
        <button
          key={id}
          type="button"
          role="menuitem"
          class={danger ? "danger" : undefined}
          onClick={() => {
            onClose();
            // After the focus has returned.
            setTimeout(run);
          }}
        >
          {icon === undefined ? null : <Icon name={icon} />}
          <span class="menu-title">{title}</span>
          {keys === undefined ? null : <Keys keys={keys} />}
        </button>
      ))}
    </div>
  );
}
