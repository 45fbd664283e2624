/** What scrolls so soon after a person did something was meant by them. */
const PERSON_MS = 1000;

/**
 * Tells whether a person scrolls the element at the moment. Its place also changes when its content does, and only a
 * person stops following the end of it. Watches until the signal is aborted.
 */
export function watchPerson(element: HTMLElement, signal: AbortSignal): () => boolean {
  let byPersonMs = Number.NEGATIVE_INFINITY;
  const onPerson = (): void => {
    byPersonMs = performance.now();
  };
  for (const kind of ["wheel", "touchmove", "pointerdown", "pointermove", "keydown"])
    element.addEventListener(kind, onPerson, { passive: true, signal });
  return () => performance.now() - byPersonMs < PERSON_MS;
}
