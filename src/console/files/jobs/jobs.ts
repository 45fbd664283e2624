import { JobQueue } from "./job-queue.ts";

/** What takes a while in the page: it goes on when another view is shown. */
export const jobs = new JobQueue(3);
