import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { visibleText } from "../../../base/visible-text.ts";
import { useHost } from "../../connection/use-host.ts";
import { addressOf, joinPath, nameOf, parentOf } from "../../frame/paths.ts";
import { navigate } from "../../frame/router.ts";
import { Icon, type IconName } from "../../ui/icon.tsx";
import { rowWindow, scrollTo } from "../../ui/row-window.ts";
import { showsHidden } from "../preferences.ts";
import { roots, startDirectory } from "../reach.ts";
import { FileTree, type TreeRow, treeStep } from "./file-tree.ts";

/** Height of a row, as in the style sheet. */
const ROW_PX = 26;
const TREE_ID = "files-tree";

/** The tree as it was last shown, for the next file. */
let kept: { root: string; open: readonly string[] } | undefined;

/** The directories around a file. */
export function TreeView({ path }: { readonly path: string }) {
  const { files } = useHost();
  const root = rootFor(path);
  const tree = useMemo(
    () => new FileTree(files, root, { open: kept?.root === root ? kept.open : [], showsHidden }),
    [files, root],
  );
  const element = useRef<HTMLDivElement>(null);
  const current = useSignal<string>(path);
  const view = useSignal({ top: 0, height: 0 });
  useEffect(
    () => () => {
      kept = { root, open: tree.openPaths };
      tree.end();
    },
    [tree],
  );
  // Before the next key, which moves on from there.
  useLayoutEffect(() => {
    tree.reveal(path);
    current.value = path;
  }, [tree, path]);
  useLayoutEffect(() => {
    const shown = element.current!;
    const measure = (): void => {
      view.value = { top: shown.scrollTop, height: shown.clientHeight };
    };
    const sizes = new ResizeObserver(measure);
    sizes.observe(shown);
    shown.addEventListener("scroll", measure, { passive: true });
    if (isAwaited) focusTree();
    return () => {
      sizes.disconnect();
      shown.removeEventListener("scroll", measure);
    };
  }, []);
  const rows = tree.rows.value;
  const index = rows.findIndex(({ key }) => key === current.value);
  const isListed = index >= 0;
  useLayoutEffect(() => {
    if (isListed) element.current!.scrollTop = scrollTo(index, view.peek(), ROW_PX);
  }, [current.value, isListed, view.value.height > 0]);
  const openRow = (row: TreeRow): void => {
    current.value = row.key;
    if (row.isOpen !== undefined && row.path !== undefined) tree.toggle(row.path);
    else if (row.path !== undefined) navigate(addressOf(row.path));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const pageRows = Math.max(1, Math.floor(view.value.height / ROW_PX) - 1);
    const at = Math.max(0, index);
    const step = treeStep(event.key, rows, at, pageRows);
    if (step === undefined) return;
    event.preventDefault();
    if (step.kind === "go") current.value = rows[step.to]!.key;
    else openRow(rows[at]!);
  };
  const { start, end } = rowWindow(view.value, ROW_PX, rows.length);
  return (
    <nav class="files-tree" aria-label="Files around this one">
      <p class="files-tree-root one-line" title={visibleText(root)}>
        {visibleText(nameOf(root) || "/")}
      </p>
      <div
        id={TREE_ID}
        class="files-tree-rows"
        role="tree"
        aria-label={`Files below ${visibleText(root)}`}
        aria-activedescendant={index < start || index >= end ? undefined : `tree-${index}`}
        data-keys="field"
        tabIndex={0}
        ref={element}
        onKeyDown={onKeyDown}
      >
        <div
          style={{ height: `${rows.length * ROW_PX}px`, paddingTop: `${start * ROW_PX}px` }}
          role="presentation"
        >
          {rows.slice(start, end).map((row, offset) => (
            <Row
              key={row.key}
              row={row}
              id={`tree-${start + offset}`}
              isCurrent={row.key === current.value}
              isShown={row.key === path}
              onOpen={() => openRow(row)}
            />
          ))}
        </div>
      </div>
    </nav>
  );
}

/** The focus is for the tree as soon as it is shown. */
let isAwaited = false;

/** Moves the focus to the tree, at once if it is shown: the next key belongs to it. */
export function focusTree(): void {
  const shown = document.getElementById(TREE_ID);
  isAwaited = shown === null;
  shown?.focus();
}

interface RowProps {
  readonly row: TreeRow;
  readonly id: string;
  /** The keyboard is there. */
  readonly isCurrent: boolean;
  /** The page shows it. */
  readonly isShown: boolean;
  readonly onOpen: () => void;
}

const ICONS: Partial<Record<TreeRow["kind"], IconName>> = { file: "file", link: "link", other: "system" };

function Row({ row, id, isCurrent, isShown, onOpen }: RowProps) {
  const { name, kind, level, isOpen } = row;
  const icon = isOpen === undefined ? ICONS[kind] : isOpen ? "chevron-down" : "chevron-right";
  return (
    <div
      id={id}
      class={`files-tree-row ${kind}${isCurrent ? " current" : ""}`}
      role="treeitem"
      aria-level={level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={isOpen}
      aria-selected={isShown}
      aria-disabled={row.path === undefined ? true : undefined}
      style={{ paddingLeft: `${level * 14 - 6}px` }}
      title={visibleText(name)}
      onClick={onOpen}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      <span class="one-line">{visibleText(name)}</span>
    </div>
  );
}

/** The directory that the tree of a file begins with: the one before, or the server's, or the file's own. */
function rootFor(path: string): string {
  const candidates = [kept?.root, startDirectory.value, ...(roots.value ?? [])];
  const isAbove = (root: string | undefined): root is string =>
    root !== undefined && root !== "/" && path.startsWith(joinPath(root, ""));
  return candidates.find(isAbove) ?? parentOf(path);
}
