import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import { EndFollower } from "./end-follower.ts";

/** As much of an element as scrolls: 100 pixels of 1000, at the end. */
class Scroller extends EventTarget {
  clientHeight = 100;
  scrollHeight = 1000;
  #top = 0;

  get scrollTop(): number {
    return this.#top;
  }

  set scrollTop(top: number) {
    this.#top = Math.max(0, Math.min(top, this.scrollHeight - this.clientHeight));
  }

  /** As a browser that goes beyond the end. */
  spring(top: number): void {
    this.#top = top;
  }
}

function scene() {
  const isFollowing = signal(true);
  const scroller = new Scroller();
  const element = scroller as unknown as HTMLElement;
  const follower = new EndFollower(isFollowing, 8);
  const over = new AbortController();
  const stops: number[] = [];
  follower.watch(element, over.signal, () => stops.push(scroller.scrollTop));
  follower.scrollToEnd(element);
  follower.scrolled(element);
  expect(scroller.scrollTop).toBe(900);
  const goTo = (top: number): void => {
    scroller.scrollTop = top;
    follower.scrolled(element);
  };
  const tell = (kind: string, facts: object): void => {
    scroller.dispatchEvent(Object.assign(new Event(kind), facts));
  };
  return { isFollowing, scroller, element, follower, over, stops, goTo, tell };
}

test.each([
  ["wheel", { deltaY: -1, ctrlKey: false, shiftKey: false }],
  ["keydown", { key: "ArrowUp", shiftKey: false }],
  ["keydown", { key: "PageUp", shiftKey: false }],
  ["keydown", { key: "Home", shiftKey: false }],
  ["keydown", { key: " ", shiftKey: true }],
])(
  "%s %o stops following before anything has moved, and small steps near the end leave it so",
  (kind, facts) => {
    const { isFollowing, stops, goTo, tell } = scene();
    tell(kind, facts);
    expect(isFollowing.value).toBe(false);
    expect(stops).toEqual([900]);
    for (const top of [900, 899.5, 899, 897, 893, 880, 860]) {
      goTo(top);
      expect(isFollowing.value).toBe(false);
    }
    goTo(890);
    expect(isFollowing.value).toBe(false);
    goTo(893);
    expect(isFollowing.value).toBe(true);
  },
);

test.each([
  ["wheel", { deltaY: 1, ctrlKey: false, shiftKey: false }],
  ["wheel", { deltaY: -1, ctrlKey: true, shiftKey: false }],
  ["wheel", { deltaY: -1, ctrlKey: false, shiftKey: true }],
  ["keydown", { key: "ArrowDown", shiftKey: false }],
  ["keydown", { key: " ", shiftKey: false }],
])("%s %o does not go up", (kind, facts) => {
  const { isFollowing, stops, tell } = scene();
  tell(kind, facts);
  expect(isFollowing.value).toBe(true);
  expect(stops).toEqual([]);
});

test("where nothing is above, and after the end, nothing stops", () => {
  const { isFollowing, scroller, element, follower, over, tell } = scene();
  const up = { deltaY: -1, ctrlKey: false, shiftKey: false };
  follower.scroll(element, 0);
  tell("wheel", up);
  expect(isFollowing.value).toBe(true);
  follower.scrollToEnd(element);
  over.abort();
  tell("wheel", up);
  expect(isFollowing.value).toBe(true);
  expect(scroller.scrollTop).toBe(900);
});

test("a finger or a scroll bar stops it by the first pixels", () => {
  const { isFollowing, goTo } = scene();
  goTo(898);
  expect(isFollowing.value).toBe(false);
});

test("what the content, the size or the program moves stops nothing", () => {
  const { isFollowing, scroller, element, follower, goTo } = scene();
  // Taller, less content, and more of it that was not followed yet.
  scroller.clientHeight = 200;
  goTo(800);
  scroller.scrollHeight = 500;
  goTo(300);
  scroller.scrollHeight = 600;
  goTo(300);
  expect(isFollowing.value).toBe(true);
  follower.scroll(element, 50);
  follower.scrolled(element);
  expect(isFollowing.value).toBe(true);
  // Rounded, and sprung back from beyond the end.
  follower.scrollToEnd(element);
  goTo(399.5);
  follower.scrollToEnd(element);
  for (const top of [430, 410, 400]) {
    scroller.spring(top);
    follower.scrolled(element);
  }
  expect(isFollowing.value).toBe(true);
});

test("a program that goes to the end does not follow it by that", () => {
  const { isFollowing, element, follower } = scene();
  isFollowing.value = false;
  follower.scroll(element, 895);
  follower.scrolled(element);
  expect(isFollowing.value).toBe(false);
});
