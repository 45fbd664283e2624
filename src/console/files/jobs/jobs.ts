import { effect } from "@preact/signals";
import { JobQueue } from "./job-queue.ts";

/** What takes a while in the page: it goes on when another view is shown. */
export const jobs = new JobQueue(3);

// The browser asks before a page is closed that transfers something.
effect(() => {
  if (jobs.jobs.value.every(({ isOver }) => isOver)) return;
  const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
  addEventListener("beforeunload", onUnload);
  return () => removeEventListener("beforeunload", onUnload);
});
