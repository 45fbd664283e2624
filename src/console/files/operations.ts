import { FileError, type Files } from "../../client/browser.ts";
import type { Entry } from "./entries.ts";
import { describeFailure } from "../connection/describe-error.ts";
import { navigate } from "../frame/router.ts";
import { askText } from "../ui/ask-text.tsx";
import { confirm } from "../ui/confirm.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { countTrees, removalText } from "./count-trees.ts";
import { jobs } from "./jobs/jobs.ts";
import { addressOf, faultOfName, joinPath, nameOf, parentOf, resolvePath } from "../frame/paths.ts";

/** Does something with files, and says what went wrong. Returns whether it was done. */
async function attempt(failure: string, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    toast({ kind: "bad", ...describeFailure(failure, error) });
    return false;
  }
}

const nameCheck = (taken: ReadonlySet<string>) => (name: string) =>
  faultOfName(name) ?? (taken.has(name) ? "There is something with this name." : undefined);

/** Makes an empty file and opens it. */
export async function newFile(files: Files, directory: string, taken: ReadonlySet<string>): Promise<void> {
  const name = await askText({ title: "New file", label: "Name", action: "Create", check: nameCheck(taken) });
  if (name === undefined) return;
  const path = joinPath(directory, name);
  const isDone = await attempt(`${visibleText(name)} was not created`, async () => {
    // The list may be old.
    if (await files.exists(path)) throw new Error(`${name} is there already`);
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
  const name = await askText({
    title: "New directory",
    label: "Name",
    action: "Create",
    check: nameCheck(taken),
  });
  if (name === undefined) return undefined;
  const isDone = await attempt(`${visibleText(name)} was not created`, () =>
    files.mkdir(joinPath(directory, name), { recursive: false }),
  );
  return isDone ? name : undefined;
}

/** Gives something another name in its directory; returns the name. */
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

/** Moves or copies to another place, which the person types. */
export async function moveEntries(
  files: Files,
  paths: readonly string[],
  home: string,
  how: "move" | "copy",
): Promise<void> {
  const [first] = paths;
  if (first === undefined) return;
  const what = paths.length === 1 ? visibleText(nameOf(first)) : `${paths.length} entries`;
  const typed = await askText({
    title: how === "move" ? `Move ${what}` : `Copy ${what}`,
    label: paths.length === 1 ? "New path" : "Directory",
    hint: "A directory that is there gets it under its name.",
    value: paths.length === 1 ? first : parentOf(first),
    action: how === "move" ? "Move" : "Copy",
  });
  if (typed === undefined) return;
  const target = resolvePath(parentOf(first), typed, home);
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
      jobs.add(`${how === "move" ? "Move" : "Copy"} ${what}`, async (job) => {
        let done = 0;
        for (const { from, to } of moves) {
          job.signal.throwIfAborted();
          job.report({ value: done, max: moves.length, unit: "items" });
          if (how === "copy") await files.copy(from, to, { recursive: true });
          else await move(files, from, to);
          done++;
        }
        job.report({ value: done, max: moves.length, unit: "items" });
      });
    },
  );
}

function checkMove(from: string, to: string): void {
  if (to === from) throw new Error("it is there already; give another path");
  if (to.startsWith(`${from}/`)) throw new Error("a directory cannot be put into itself");
}

function mayReplace(count: number, how: "move" | "copy"): Promise<boolean> {
  return confirm({
    title: "Replace what is there?",
    text: `${count === 1 ? "Something is" : `${count} things are`} there already. Files are replaced${
      how === "copy" ? ", and directories merged" : ""
    }.`,
    action: "Replace",
    danger: true,
  });
}

/** Also to another file system, which cannot be done in one step. */
async function move(files: Files, from: string, to: string): Promise<void> {
  try {
    await files.rename(from, to);
  } catch (error) {
    if (!(error instanceof FileError) || error.errno !== "EXDEV") throw error;
    await files.copy(from, to, { recursive: true });
    await files.remove(from, { recursive: true });
  }
}

/** Deletes, after a question that says how much. */
export async function deleteEntries(
  files: Files,
  directory: string,
  entries: readonly Entry[],
): Promise<void> {
  if (entries.length === 0) return;
  const counting = new AbortController();
  const trees = entries
    .filter(({ kind }) => kind === "directory")
    .map(({ name }) => joinPath(directory, name));
  const count = await countTrees(files, trees, counting.signal);
  const what = entries.length === 1 ? visibleText(entries[0]!.name) : `${entries.length} entries`;
  const isMeant = await confirm({
    title: `Delete ${what}?`,
    text: removalText(entries, count),
    action: "Delete",
    danger: true,
  });
  if (!isMeant) return;
  jobs.add(`Delete ${what}`, async (job) => {
    let done = 0;
    for (const { name, kind } of entries) {
      job.signal.throwIfAborted();
      job.report({ value: done, max: entries.length, unit: "items" });
      await files.remove(joinPath(directory, name), { recursive: kind === "directory", force: true });
      done++;
    }
    job.report({ value: done, max: entries.length, unit: "items" });
  });
}

/** Sets the permissions of entries. */
export async function changeMode(files: Files, directory: string, entries: readonly Entry[]): Promise<void> {
  const [first] = entries;
  if (first === undefined) return;
  const typed = await askText({
    title: entries.length === 1 ? `Permissions of ${visibleText(first.name)}` : "Permissions",
    label: "Mode, in octal",
    hint: "Such as 644: the owner reads and writes, others read. 755 for programs and directories.",
    value: first.mode?.toString(8) ?? "",
    action: "Set",
    check: (value) => (/^[0-7]{1,4}$/.test(value) ? undefined : "Give up to four digits from 0 to 7."),
  });
  if (typed === undefined) return;
  await attempt("The permissions were not set", async () => {
    for (const { name } of entries) await files.chmod(joinPath(directory, name), Number.parseInt(typed, 8));
  });
}
