/** Reports where the pointer is while it drags an element, until it is released or the element is gone. */
export function followPointer(
  pressed: PointerEvent & { readonly currentTarget: HTMLElement },
  moved: (event: PointerEvent) => void,
): void {
  const dragged = pressed.currentTarget;
  const over = new AbortController();
  dragged.setPointerCapture(pressed.pointerId);
  const onMove = (event: PointerEvent): void => {
    if (dragged.isConnected) moved(event);
    else over.abort();
  };
  dragged.addEventListener("pointermove", onMove, { signal: over.signal });
  dragged.addEventListener("lostpointercapture", () => over.abort(), { once: true });
}
