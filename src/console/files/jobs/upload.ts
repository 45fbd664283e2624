import { FileError, type Files, type Host } from "../../../client/browser.ts";
import { confirm } from "../../ui/confirm.tsx";
import { visibleText } from "../../../base/visible-text.ts";
import { joinPath, nameOf } from "../../frame/paths.ts";
import { FailedFiles } from "./failed-files.ts";
import { eachOf, type Job, jobs } from "./job-queue.ts";
import { type UploadSource, planUpload, type PlannedUpload, topNames, unreadable } from "./upload-plan.ts";
import { withHost } from "./with-host.ts";

/** Small files wait for the server most of the time. */
const FILES_AT_ONCE = 4;

/** Uploads into a directory, after a question if something would be replaced. */
export async function upload(files: Files, directory: string, source: UploadSource): Promise<void> {
  const plan = planUpload(directory, source);
  if (plan.files.length === 0 && plan.directories.length === 0) return;
  const replaced = await filesInTheWay(files, directory, source, plan);
  if (replaced.length > 0 && !(await mayReplace(replaced))) return;
  const [first] = topNames(source);
  const what = plan.files.length === 1 ? nameOf(plan.files[0]!.path) : `${plan.files.length} files`;
  jobs.add(`Upload ${visibleText(plan.files.length === 0 ? first! : what)}`, (job) => run(job, plan));
}

async function run(job: Job, plan: PlannedUpload): Promise<void> {
  let finished = 0;
  const underWay = new Map<string, number>();
  const report = (): void => {
    const partly = [...underWay.values()].reduce((sum, bytes) => sum + bytes, 0);
    job.report({ value: finished + partly, max: plan.bytes, unit: "bytes" });
  };
  report();
  const failed = new FailedFiles(plan.files.length + plan.directories.length);
  for (const path of plan.directories)
    await withHost(job.signal, (host) => host.files.mkdir(path, { signal: job.signal })).catch((error) =>
      failed.add(error),
    );
  await eachOf(plan.files, FILES_AT_ONCE, job.signal, async ({ blob, path }, signal) => {
    const onProgress = (bytes: number): void => {
      underWay.set(path, bytes);
      report();
    };
    // The same in every session, so that the next one can continue.
    const part = partId();
    const write = (host: Host): Promise<void> =>
      host.files.writeBlob(path, blob, { signal, onProgress, part }).catch((error: unknown) => {
        throw isLocal(error) ? localError(path, error) : error;
      });
    await withHost(signal, write).catch((error: unknown) => {
      // An upload that was stopped between two sessions is removed in the next one.
      if (signal.aborted) withHost(new AbortController().signal, write).catch(() => {});
      failed.add(error);
    });
    underWay.delete(path);
    finished += blob.size;
    report();
  });
  failed.throwIfAny();
}

/** Whether the browser could not read a file, for example because it was deleted in the meantime. */
function isLocal(error: unknown): boolean {
  return error instanceof DOMException && ["NotReadableError", "NotFoundError"].includes(error.name);
}

/** Like the server's errors about single files, it does not stop the others. */
function localError(path: string, cause: unknown): FileError {
  return new FileError("INVALID_INPUT", unreadable(nameOf(path), cause).message, { path, cause });
}

function partId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** Files that are there already. Directories are merged. */
async function filesInTheWay(
  files: Files,
  directory: string,
  source: UploadSource,
  plan: PlannedUpload,
): Promise<readonly string[]> {
  const existing = new Set<string>();
  const names = topNames(source);
  for (const { name, kind } of await files.list(directory)) {
    if (!names.has(name)) continue;
    const path = joinPath(directory, name);
    if (kind !== "directory") existing.add(path);
    else
      for (const entry of (await files.walk(path)).entries)
        if (entry.kind === "file") existing.add(entry.path);
  }
  return plan.files.map(({ path }) => path).filter((path) => existing.has(path));
}

function mayReplace(paths: readonly string[]): Promise<boolean> {
  const [first] = paths;
  return confirm({
    title: paths.length === 1 ? `Replace ${visibleText(nameOf(first!))}?` : `Replace ${paths.length} files?`,
    text: `There ${paths.length === 1 ? "is a file" : "are files"} with the same name, whose contents will be lost.`,
    action: "Replace",
    danger: true,
  });
}
