import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Which part of an element that scrolls can be seen. */
export function useRowView(body: {
  readonly current: HTMLElement | null;
}): Signal<{ readonly top: number; readonly height: number }> {
  const view = useSignal({ top: 0, height: 600 });
  useEffect(() => {
    const element = body.current!;
    const measure = (): void => {
      view.value = { top: element.scrollTop, height: element.clientHeight };
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  return view;
}
