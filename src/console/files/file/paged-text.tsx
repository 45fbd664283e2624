import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { describeError } from "../../connection/describe-error.ts";
import { useHost } from "../../connection/use-host.ts";
import { inGroup, useCommands } from "../../frame/commands.ts";
import { nameOf } from "../../frame/paths.ts";
import { theme } from "../../frame/theme.ts";
import { askText } from "../../ui/ask-text.tsx";
import { Button } from "../../ui/button.tsx";
import { EndFollower } from "../../ui/end-follower.ts";
import { ErrorBox } from "../../ui/error-box.tsx";
import { keepsFocus } from "../../ui/field.tsx";
import { formatSize } from "../../../base/amounts.ts";
import { type FileFrame, FilesFrame } from "../files-frame.tsx";
import type { CodeEditor } from "./code-editor.ts";
import { EncodingChooser } from "./encoding-chooser.tsx";
import type { FileDocument } from "./file-document.ts";
import type { Encoding } from "../encodings.ts";
import { FilePager } from "./file-pager.ts";
import { offsetOf } from "./offsets.ts";

/** Distance from the end that counts as the end. */
const END_PX = 24;

export interface PagedTextProps {
  readonly frame: FileFrame;
  readonly document: FileDocument;
  readonly encoding: Encoding;
  /** Whether it opens with its end, and follows it. */
  readonly isTail: boolean;
  /** Shows the whole file in the editor; undefined if it is too large. */
  readonly onEdit: (() => void) | undefined;
}

/** A text of any size, a page at a time. */
export function PagedText({ frame, document, encoding, isTail, onEdit }: PagedTextProps) {
  const { files } = useHost();
  const parent = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor>(undefined);
  const { path } = document;
  const pager = useMemo(() => new FilePager(files, path, encoding), [files, path]);
  const follower = useMemo(() => new EndFollower(pager.isFollowing, END_PX), [pager]);
  const isReady = useSignal(false);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const focused = globalThis.document.activeElement;
    document.isPaged = true;
    void import("./code-editor.ts").then(({ CodeEditor }) => {
      if (signal.aborted || parent.current === null) return;
      const made = new CodeEditor({
        parent: parent.current,
        name: nameOf(path),
        saved: "",
        ending: "lf",
        isReadOnly: true,
        isPart: true,
        isDark: theme.value === "dark",
        onChange: () => {},
        onCursor: () => {},
      });
      editor.current = made;
      follower.watch(made.scroller, signal);
      const onScroll = (): void => {
        // The end of a page is not the end of the file.
        if (pager.isFollowing.value) follower.scrolled(made.scroller);
      };
      made.scroller.addEventListener("scroll", onScroll, { passive: true, signal });
      const { activeElement } = globalThis.document;
      if (activeElement === focused && !keepsFocus(activeElement)) made.focus();
      isReady.value = true;
    });
    void (isTail ? pager.follow() : /\.log$/i.test(path) ? pager.toEnd() : pager.toStart());
    return () => {
      document.isPaged = false;
      leaving.abort();
      pager.close();
      isReady.value = false;
      editor.current?.close();
      editor.current = undefined;
    };
  }, [pager]);
  useSignalEffect(() => editor.current?.setDark(theme.value === "dark"));
  useEffect(() => pager.showAs(encoding), [pager, encoding]);
  const page = pager.page.value;
  useEffect(() => {
    const { current } = editor;
    if (page === undefined || current === undefined) return;
    current.reload(page.text.replaceAll(/\r\n?/g, "\n"));
    current.scrollTo(pager.edge);
  }, [page, isReady.value]);
  const steps = [
    { id: "start", title: "Start", keys: "Alt+Home", run: () => pager.toStart() },
    { id: "earlier", title: "Earlier", keys: "Alt+PageUp", run: () => pager.earlier() },
    { id: "later", title: "Later", keys: "Alt+PageDown", run: () => pager.later() },
    { id: "end", title: "End", keys: "Alt+End", run: () => pager.toEnd() },
    { id: "go-to", title: "Go to…", keys: "Alt+G", run: () => askOffset(pager) },
  ];
  const isFollowing = pager.isFollowing.value;
  const follow = (): void => {
    if (isFollowing) pager.stopFollowing();
    else void pager.follow();
  };
  useCommands(
    () =>
      inGroup("Files", [
        ...steps.map(({ id, title, keys, run }) => ({
          id: `files-page-${id}`,
          title: PAGE_TITLES[id] ?? title,
          keys,
          run: () => void run(),
        })),
        { id: "files-follow", title: "Follow the end of the file", run: follow },
      ]),
    [pager],
  );
  const error = pager.error.value;
  return (
    <FilesFrame
      {...frame}
      actions={onEdit === undefined ? undefined : <Button onClick={onEdit}>Edit</Button>}
      foot={
        <footer class="files-foot number">
          <EncodingChooser encoding={encoding} onChoose={(chosen) => document.showAs(chosen)} />
          <span>{page === undefined ? "" : positionText(page.from, page.to, pager.size.value)}</span>
          {isFollowing ? <span>following</span> : null}
        </footer>
      }
    >
      <div class="files-pages" role="group" aria-label="Pages of the file">
        {steps.map(({ id, title, keys, run }) => (
          <Button key={id} title={`${PAGE_TITLES[id]} (${keys})`} onClick={() => void run()}>
            {title}
          </Button>
        ))}
        <Button pressed={isFollowing} onClick={follow}>
          Follow
        </Button>
      </div>
      {error === undefined ? null : (
        <div class="view-failed">
          <ErrorBox {...describeError(error)} />
        </div>
      )}
      <div class="files-editor" ref={parent} />
    </FilesFrame>
  );
}

const PAGE_TITLES: Readonly<Record<string, string>> = {
  start: "Start of the file",
  earlier: "Earlier part of the file",
  later: "Later part of the file",
  end: "End of the file",
  "go-to": "Go to a position in the file",
};

async function askOffset(pager: FilePager): Promise<void> {
  const size = pager.size.value;
  const typed = await askText({
    title: "Go to a position",
    label: "Position",
    hint: `A number of bytes up to ${size}, or a share of the file such as 50%.`,
    action: "Go",
    check: (text) => (offsetOf(text, size) === undefined ? "Enter a number, or a percentage." : undefined),
  });
  const offset = typed === undefined ? undefined : offsetOf(typed, size);
  if (offset !== undefined) await pager.goTo(offset);
}

function positionText(from: number, to: number, size: number): string {
  const share = size === 0 ? 100 : Math.round((to / size) * 100);
  return `${formatSize(from)} to ${formatSize(to)} of ${formatSize(size)}, ${share} %`;
}
