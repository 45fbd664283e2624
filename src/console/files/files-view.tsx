import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { FileError, type Files, type FileStat } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { useCommands } from "../frame/commands.ts";
import { navigate } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import { TextQuestions } from "../ui/ask-text.tsx";
import { Button } from "../ui/button.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { ConflictQuestion } from "./file/conflict.tsx";
import { DirectoryView } from "./directory-view.tsx";
import { FilesFrame } from "./files-frame.tsx";
import { OpenFile } from "./open-file.tsx";
import { isWithinReach, roots } from "./reach.ts";
import { addressOf, nameOf, parentOf, pathAt, pathFromUri } from "../frame/paths.ts";

/** What was found at a path. */
interface Found {
  readonly path: string;
  readonly stat?: FileStat;
  readonly error?: unknown;
  /** Where a link points that leads nowhere. */
  readonly target?: string;
}

/** The file or directory that the address names. */
export default function FilesView({ path: address }: ViewProps) {
  const host = useHost();
  const { environment } = host;
  const told = [environment?.cwd, environment?.userHomeDir].map(pathFromUri);
  const start = told.find((path) => path !== undefined && isWithinReach(path)) ?? roots.value?.[0] ?? "/";
  const home = [told[1]].find((path) => path !== undefined && isWithinReach(path)) ?? start;
  const path = pathAt(address) ?? start;
  const found = useSignal<Found | undefined>(undefined);
  const attempt = useSignal(0);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    void lookAt(host.files, path, signal).then((seen) => {
      if (!signal.aborted) found.value = seen;
    });
    return () => leaving.abort();
  }, [host, path, attempt.value]);
  useCommands(
    () => [
      { id: "files-home", title: "Home directory", group: "Files", keys: "g h", run: () => go(home) },
      { id: "files-start", title: "Directory of the server", group: "Files", run: () => go(start) },
      ...(roots.value ?? []).map((root) => ({
        id: `files-root-${root}`,
        title: `Go to ${visibleText(root)}`,
        group: "Files",
        run: () => go(root),
      })),
      {
        id: "files-up",
        title: "Directory above",
        group: "Files",
        keys: "Backspace",
        run: () => go(parentOf(path)),
      },
    ],
    [home, start, roots.value],
  );
  return (
    <>
      <Shown
        // What was shown before stays until it is known what comes.
        found={found.value ?? { path }}
        home={home}
        again={() => {
          attempt.value++;
        }}
      />
      <TextQuestions />
      <ConflictQuestion />
    </>
  );
}

async function lookAt(files: Files, path: string, signal: AbortSignal): Promise<Found> {
  try {
    return { path, stat: await files.stat(path, { signal }) };
  } catch (error) {
    const isMissing = error instanceof FileError && LEADS_NOWHERE.has(error.errno);
    const target = isMissing ? await files.readLink(path, { signal }).catch(() => undefined) : undefined;
    return { path, error, ...(target === undefined ? {} : { target }) };
  }
}

/** Errors of links whose target is not there, or is the link itself. */
const LEADS_NOWHERE: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

function go(path: string): void {
  navigate(addressOf(path));
}

function Shown({
  found,
  home,
  again,
}: {
  readonly found: Found;
  readonly home: string;
  readonly again: () => void;
}) {
  const { path, stat, error, target } = found;
  if (stat?.kind === "directory") return <DirectoryView key={path} path={path} home={home} />;
  if (stat !== undefined) return <OpenFile key={path} path={path} home={home} stat={stat} again={again} />;
  if (error === undefined) return <FilesFrame path={path} home={home} directory={path} children={null} />;
  const described =
    target === undefined
      ? describeError(error)
      : {
          text: `${visibleText(nameOf(path))} is a broken link: it points to ${visibleText(target)}, which is not there.`,
          remedy: "Make what it points to, or delete the link.",
        };
  return (
    <FilesFrame path={path} home={home} directory={parentOf(path)}>
      <div class="files-error">
        <ErrorBox {...described}>
          <Button onClick={again}>Try again</Button>
          {isWithinReach(parentOf(path)) ? (
            <Button onClick={() => go(parentOf(path))}>Directory above</Button>
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
