import { FileError, type Files } from "../../client/browser.ts";
import type { Entry } from "./entries.ts";
import { attempt } from "../connection/attempt.ts";
import { navigate } from "../frame/router.ts";
import { askText } from "../ui/ask-text.tsx";
import { confirm } from "../ui/confirm.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { countTrees, removalText } from "./count-trees.ts";
import { type Job, jobs } from "./jobs/job-queue.ts";
import { homeDirectory } from "./reach.ts";
import { addressOf, faultOfName, joinPath, nameOf, parentOf, resolvePath } from "../frame/paths.ts";

const nameCheck = (taken: ReadonlySet<string>) => (name: string) =>
  faultOfName(name) ?? (taken.has(name) ? "This name is taken." : undefined);

function askNewName(title: string, taken: ReadonlySet<string>): Promise<string | undefined> {
  return askText({ title, label: "Name", action: "Create", check: nameCheck(taken) });
}

/** Makes an empty file and opens it. */
export async function newFile(files: Files, directory: string, taken: ReadonlySet<string>): Promise<void> {
  const name = await askNewName("New file", taken);
  if (name === undefined) return;
  const path = joinPath(directory, name);
  const isDone = await attempt(`${visibleText(name)} was not created`, async () => {
    // The list may be old.
    if (await files.exists(path)) throw new Error(`${name} already exists`);
    await files.write(path, "");
  });
  if (isDone) navigate(addressOf(path));
}

/** Makes a directory; returns its name. */
export async function newDirectory(
  files: Files,
  directory: string,
  taken: ReadonlySet<string>,
): Promise<string | undefined> {
  const name = await askNewName("New directory", taken);
  if (name === undefined) return undefined;
  const isDone = await attempt(`${visibleText(name)} was not created`, () =>
    files.mkdir(joinPath(directory, name), { recursive: false }),
  );
  return isDone ? name : undefined;
}

/** Renames an entry in its directory; returns the new name. */
export async function renameEntry(
  files: Files,
  path: string,
  taken: ReadonlySet<string>,
): Promise<string | undefined> {
  const before = nameOf(path);
  const dot = before.lastIndexOf(".");
  const others = new Set([...taken].filter((name) => name !== before));
  const name = await askText({
    title: `Rename ${visibleText(before)}`,
    label: "Name",
    value: before,
    selected: dot > 0 ? dot : before.length,
    action: "Rename",
    check: nameCheck(others),
  });
  if (name === undefined || name === before) return undefined;
  const isDone = await attempt(`${visibleText(before)} was not renamed`, () =>
    files.rename(path, joinPath(parentOf(path), name)),
  );
  return isDone ? name : undefined;
}

/** Moves or copies entries to a path that the person types. */
export async function moveEntries(
  files: Files,
  paths: readonly string[],
  how: "move" | "copy",
): Promise<void> {
  const first = paths[0]!;
  const what = paths.length === 1 ? visibleText(nameOf(first)) : `${paths.length} entries`;
  const typed = await askText({
    title: how === "move" ? `Move ${what}` : `Copy ${what}`,
    label: paths.length === 1 ? "New path" : "Directory",
    hint: "If a directory has this path, it goes into that directory.",
    value: paths.length === 1 ? first : parentOf(first),
    action: how === "move" ? "Move" : "Copy",
  });
  if (typed === undefined) return;
  const target = resolvePath(parentOf(first), typed, homeDirectory.value);
  await attempt(
    `${what} ${paths.length === 1 ? "was" : "were"} not ${how === "move" ? "moved" : "copied"}`,
    async () => {
      const isDirectory = await files.stat(target).then(
        ({ kind }) => kind === "directory",
        () => false,
      );
      if (!isDirectory && paths.length > 1) throw new Error(`${target} is not a directory`);
      const moves = paths.map((from) => ({
        from,
        to: isDirectory ? joinPath(target, nameOf(from)) : target,
      }));
      for (const { from, to } of moves) checkMove(from, to);
      const inTheWay = (await Promise.all(moves.map(({ to }) => files.exists(to)))).filter(Boolean).length;
      if (inTheWay > 0 && !(await mayReplace(inTheWay, how))) return;
      jobs.add(`${how === "move" ? "Move" : "Copy"} ${what}`, (job) =>
        inTurn(job, moves, ({ from, to }) =>
          how === "copy" ? files.copy(from, to, { recursive: true }) : move(files, from, to),
        ),
      );
    },
  );
}

/** Works on items until the job is stopped, and reports how many are done. */
async function inTurn<T>(job: Job, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const report = (value: number): void => job.report({ value, max: items.length, unit: "items" });
  for (const [done, item] of items.entries()) {
    job.signal.throwIfAborted();
    report(done);
    await work(item);
  }
  report(items.length);
}

function checkMove(from: string, to: string): void {
  if (to === from) throw new Error("it is already there; use another path");
  if (to.startsWith(`${from}/`)) throw new Error("a directory cannot be put into itself");
}

function mayReplace(count: number, how: "move" | "copy"): Promise<boolean> {
  return confirm({
    title: "Replace existing files?",
    text: `${count === 1 ? "A name is" : `${count} names are`} taken. Files are replaced${
      how === "copy" ? ", and directories merged" : ""
    }.`,
    action: "Replace",
    danger: true,
  });
}

/** Also moves to another file system, which takes more than one step. */
async function move(files: Files, from: string, to: string): Promise<void> {
  try {
    await files.rename(from, to);
  } catch (error) {
    if (!(error instanceof FileError) || error.errno !== "EXDEV") throw error;
    await files.copy(from, to, { recursive: true });
    await files.remove(from, { recursive: true });
  }
}

/** Deletes entries, after a question that says how many files that includes. */
export async function deleteEntries(
  files: Files,
  directory: string,
  entries: readonly Entry[],
): Promise<void> {
  const trees = entries
    .filter(({ kind }) => kind === "directory")
    .map(({ name }) => joinPath(directory, name));
  const count = await countTrees(files, trees);
  const what = entries.length === 1 ? visibleText(entries[0]!.name) : `${entries.length} entries`;
  const isConfirmed = await confirm({
    title: `Delete ${what}?`,
    text: removalText(entries, count),
    action: "Delete",
    danger: true,
  });
  if (!isConfirmed) return;
  jobs.add(`Delete ${what}`, (job) =>
    inTurn(job, entries, ({ name, kind }) =>
      files.remove(joinPath(directory, name), { recursive: kind === "directory", force: true }),
    ),
  );
}

/** Sets the permissions of entries. */
export async function changeMode(files: Files, directory: string, entries: readonly Entry[]): Promise<void> {
  const first = entries[0]!;
  const typed = await askText({
    title: entries.length === 1 ? `Permissions of ${visibleText(first.name)}` : "Permissions",
    label: "Mode, in octal",
    hint: "Such as 644: the owner reads and writes, others read. 755 for programs and directories.",
    value: first.mode?.toString(8) ?? "",
    action: "Set",
    check: (value) => (/^[0-7]{1,4}$/.test(value) ? undefined : "Enter up to four digits from 0 to 7."),
  });
  if (typed === undefined) return;
  await attempt("The permissions were not set", async () => {
    for (const { name } of entries) await files.chmod(joinPath(directory, name), Number.parseInt(typed, 8));
  });
}
