import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { FileError, type Files, type FileStat } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import { TextQuestions } from "../ui/ask-text.tsx";
import { Button } from "../ui/button.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { isNarrow } from "../ui/narrow.ts";
import { visibleText } from "../../base/visible-text.ts";
import { ConflictQuestion } from "./file/save.tsx";
import { DirectoryView } from "./directory-view.tsx";
import { FilesFrame } from "./files-frame.tsx";
import { OpenFile } from "./open-file.tsx";
import { showsTree } from "./preferences.ts";
import { homeDirectory, isWithinReach, roots, startDirectory } from "./reach.ts";
import { TreeView } from "./tree/tree-view.tsx";
import { addressOf, nameOf, parentOf, pathAt } from "../frame/paths.ts";

/** What is at a path. */
interface PathContents {
  readonly path: string;
  readonly stat?: FileStat;
  readonly error?: unknown;
  /** Target of a broken link. */
  readonly target?: string;
}

/** The file or directory that the address names. */
export default function FilesView({ path: address }: ViewProps) {
  const host = useHost();
  const path = pathAt(address) ?? startDirectory.value;
  const shown = useSignal<PathContents | undefined>(undefined);
  const attempt = useSignal(0);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    void readPath(host.files, path, signal).then((contents) => {
      if (!signal.aborted) shown.value = contents;
    });
    return () => leaving.abort();
  }, [host, path, attempt.value]);
  useCommands(
    () =>
      inGroup("Files", [
        { id: "files-home", title: "Home directory", keys: "g h", run: () => go(homeDirectory.value) },
        { id: "files-start", title: "The server's directory", run: () => go(startDirectory.value) },
        ...(roots.value ?? []).map((root) => ({
          id: `files-root-${root}`,
          title: `Go to ${visibleText(root)}`,
          run: () => go(root),
        })),
        { id: "files-up", title: "Parent directory", keys: "Backspace", run: () => go(parentOf(path)) },
      ]),
    [roots.value],
  );
  const { stat, path: shownPath } = shown.value ?? { path };
  const hasTree = stat !== undefined && stat.kind !== "directory" && showsTree.value && !isNarrow.value;
  return (
    <>
      <div
        class="files-split"
        onDragOver={(event) => {
          if (event.defaultPrevented || event.dataTransfer === null) return;
          // A file that misses the list would be opened in place of the page.
          event.preventDefault();
          event.dataTransfer.dropEffect = "none";
        }}
      >
        {hasTree ? <TreeView path={shownPath} /> : null}
        <Shown
          // The previous contents stay until the next ones are known.
          {...(shown.value ?? { path })}
          again={() => {
            attempt.value++;
          }}
        />
      </div>
      <TextQuestions />
      <ConflictQuestion />
    </>
  );
}

async function readPath(files: Files, path: string, signal: AbortSignal): Promise<PathContents> {
  try {
    return { path, stat: await files.stat(path, { signal }) };
  } catch (error) {
    const isMissing = error instanceof FileError && BROKEN_LINK_ERRNOS.has(error.errno);
    const target = isMissing ? await files.readLink(path, { signal }).catch(() => undefined) : undefined;
    return { path, error, ...(target === undefined ? {} : { target }) };
  }
}

/** Errors of links whose target is missing, or is the link itself. */
const BROKEN_LINK_ERRNOS: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

function go(path: string): void {
  navigate(addressOf(path));
}

function Shown({ path, stat, error, target, again }: PathContents & { readonly again: () => void }) {
  if (stat?.kind === "directory") return <DirectoryView key={path} path={path} />;
  if (stat !== undefined) return <OpenFile key={path} path={path} stat={stat} again={again} />;
  if (error === undefined) return <FilesFrame path={path} directory={path} children={null} />;
  const described =
    target === undefined
      ? describeError(error)
      : {
          text: `${visibleText(nameOf(path))} is a broken link: it points to ${visibleText(target)}, which does not exist.`,
          remedy: "Create its target, or delete the link.",
        };
  return (
    <FilesFrame path={path} directory={parentOf(path)}>
      <div class="view-failed">
        <ErrorBox {...described}>
          <Button onClick={again}>Try again</Button>
          {isWithinReach(parentOf(path)) ? (
            <Button onClick={() => go(parentOf(path))}>Parent directory</Button>
          ) : null}
          {isWithinReach(path)
            ? null
            : roots.value?.map((root) => (
                <Button key={root} onClick={() => go(root)}>
                  {visibleText(root)}
                </Button>
              ))}
        </ErrorBox>
      </div>
    </FilesFrame>
  );
}
