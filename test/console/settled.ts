import type { Page } from "playwright-core";
import { expect } from "vitest";
import { frames } from "./output-screen.ts";

/** Animations and transitions that are under way or about to begin. */
export function runningAnimations(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    document
      .getAnimations()
      .filter(({ playState }) => playState === "running")
      .map((animation) => {
        const { target } = animation.effect as KeyframeEffect;
        const what =
          animation instanceof CSSTransition
            ? animation.transitionProperty
            : (animation as CSSAnimation).animationName;
        return `${what} of ${target?.nodeName} ${target?.className}`;
      }),
  );
}

/** Resolves when the last change is drawn, and nothing moves or changes its colour any more. */
export async function settled(page: Page): Promise<void> {
  await frames(page);
  await expect.poll(() => runningAnimations(page)).toEqual([]);
}
