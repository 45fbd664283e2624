import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FileStat } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { useCommands } from "../shell/commands.ts";
import { navigate } from "../shell/router.ts";
import type { ViewProps } from "../shell/view.ts";
import { TextQuestions } from "../ui/ask-text.tsx";
import { Button } from "../ui/button.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { ConflictQuestion } from "./file/conflict.tsx";
import { DirectoryView } from "./directory-view.tsx";
import { FilesFrame } from "./files-frame.tsx";
import { OpenFile } from "./open-file.tsx";
import { addressOf, parentOf, pathAt, pathFromUri } from "./paths.ts";

/** What was found at a path. */
interface Found {
  readonly path: string;
  readonly stat?: FileStat;
  readonly error?: unknown;
}

/** The file or directory that the address names. */
export default function FilesView({ path: address }: ViewProps) {
  const host = useHost();
  const { environment } = host;
  const start = pathFromUri(environment?.cwd) ?? pathFromUri(environment?.userHomeDir) ?? "/";
  const home = pathFromUri(environment?.userHomeDir) ?? start;
  const path = pathAt(address) ?? start;
  const found = useSignal<Found | undefined>(undefined);
  const attempt = useSignal(0);
  useEffect(() => {
    const leaving = new AbortController();
    host.files.stat(path, { signal: leaving.signal }).then(
      (stat) => {
        found.value = { path, stat };
      },
      (error: unknown) => {
        if (!leaving.signal.aborted) found.value = { path, error };
      },
    );
    return () => leaving.abort();
  }, [host, path, attempt.value]);
  useCommands(
    () => [
      { id: "files-home", title: "Home directory", group: "Files", keys: "g h", run: () => go(home) },
      { id: "files-start", title: "Directory of the server", group: "Files", run: () => go(start) },
      {
        id: "files-up",
        title: "Directory above",
        group: "Files",
        keys: "Backspace",
        run: () => go(parentOf(path)),
      },
    ],
    [home, start],
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
  const { path, stat, error } = found;
  if (stat?.kind === "directory") return <DirectoryView key={path} path={path} home={home} />;
  if (stat !== undefined) return <OpenFile key={path} path={path} home={home} stat={stat} />;
  if (error === undefined) return <FilesFrame path={path} home={home} directory={path} children={null} />;
  const { text, remedy } = describeError(error);
  return (
    <FilesFrame path={path} home={home} directory={parentOf(path)}>
      <div class="files-error">
        <ErrorBox text={text} remedy={remedy}>
          <Button onClick={again}>Try again</Button>
          <Button onClick={() => go(parentOf(path))}>Directory above</Button>
        </ErrorBox>
      </div>
    </FilesFrame>
  );
}
