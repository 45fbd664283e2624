import type { Signal } from "@preact/signals";

/** Keys with which browsers scroll up. */
const UP_KEYS: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);
/** Browsers round where an element has scrolled to. */
const ROUNDING_PX = 1;

interface ScrollPosition {
  readonly top: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

/**
 * Follows the end of an element until the user scrolls up, and again when they return to the end. The scroll position
 * also changes with the content or the size, which does not count.
 */
export class EndFollower {
  readonly #isFollowing: Signal<boolean>;
  /** Distance from the end that counts as the end. */
  readonly #endPx: number;
  #last: ScrollPosition = { top: 0, scrollHeight: 0, clientHeight: 0 };

  constructor(isFollowing: Signal<boolean>, endPx: number) {
    this.#isFollowing = isFollowing;
    this.#endPx = endPx;
  }

  /** Scrolls programmatically, so that it does not count as the user's action. Returns the resulting position. */
  scroll(element: HTMLElement, top: number): number {
    element.scrollTop = top;
    this.#last = scrollPositionOf(element);
    return element.scrollTop;
  }

  scrollToEnd(element: HTMLElement): void {
    this.scroll(element, element.scrollHeight);
  }

  /** Call it when the element has scrolled. */
  scrolled(element: HTMLElement): void {
    const last = this.#last;
    const now = scrollPositionOf(element);
    this.#last = now;
    const isResized = now.scrollHeight !== last.scrollHeight || now.clientHeight !== last.clientHeight;
    const isAtEnd = now.top + now.clientHeight >= now.scrollHeight - this.#endPx;
    if (isAtEnd && (isResized || now.top > last.top)) this.#isFollowing.value = true;
    else if (!isResized && now.top < last.top - ROUNDING_PX) this.#isFollowing.value = false;
  }

  /**
   * Stops at what begins a way up, until the signal is aborted. Browsers go it in many small steps, and the next line
   * would be followed back to the end before the first of them is seen.
   */
  watch(element: HTMLElement, signal: AbortSignal, onStop?: () => void): void {
    const goUp = (): void => {
      if (!this.#isFollowing.value || element.scrollTop <= 0) return;
      this.#isFollowing.value = false;
      onStop?.();
    };
    const listen = { passive: true, signal };
    element.addEventListener(
      "wheel",
      // Control zooms, and Shift scrolls sideways.
      ({ deltaY, ctrlKey, shiftKey }) => {
        if (deltaY < 0 && !ctrlKey && !shiftKey) goUp();
      },
      listen,
    );
    element.addEventListener(
      "keydown",
      ({ key, shiftKey, target }) => {
        if (target === element && (UP_KEYS.has(key) || (key === " " && shiftKey))) goUp();
      },
      listen,
    );
  }
}

function scrollPositionOf({ scrollTop, scrollHeight, clientHeight }: HTMLElement): ScrollPosition {
  // Some browsers go beyond the end, and spring back.
  return { top: Math.min(scrollTop, scrollHeight - clientHeight), scrollHeight, clientHeight };
}
