import { IconButton } from "../ui/button.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { askToClose } from "./closing.tsx";
import { followPointer } from "./follow-pointer.ts";
import {
  changePane,
  closePane,
  focus,
  terminalKey,
  type LayoutNode,
  moveBorder,
  type PaneLayout,
  type Side,
  type SplitLayout,
} from "./layout.ts";
import { layout } from "./open-terminals.ts";
import { paneModels } from "./pane-model.ts";
import { TerminalPane } from "./terminal-pane.tsx";

const STEP = 0.05;

export interface SplitPanesProps {
  readonly node: LayoutNode;
  readonly tab: number;
  /** Position in the tab. */
  readonly path: readonly Side[];
  /** Key of the pane that has the keyboard; undefined in a tab that is not shown. */
  readonly focused: string | undefined;
}

/** The panes of a tab. */
export function SplitPanes({ node, tab, path, focused }: SplitPanesProps) {
  if (node.kind === "pane") return <Pane pane={node} focused={focused} isAlone={path.length === 0} />;
  return <Split node={node} tab={tab} path={path} focused={focused} />;
}

function Split({ node, tab, path, focused }: SplitPanesProps & { readonly node: SplitLayout }) {
  const isRight = node.direction === "right";
  const move = (share: number): void => {
    layout.value = moveBorder(layout.value, tab, path, share);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    move(node.share + steps * STEP);
  };
  const part = (side: Side) => (
    <div class="term-part" style={{ flexGrow: side === "first" ? node.share : 1 - node.share }}>
      <SplitPanes node={node[side]} tab={tab} path={[...path, side]} focused={focused} />
    </div>
  );
  return (
    <div class={`term-split ${node.direction}`}>
      {part("first")}
      <div
        class="term-border"
        role="separator"
        tabIndex={0}
        aria-label="Border between two terminals"
        aria-orientation={isRight ? "vertical" : "horizontal"}
        aria-valuenow={Math.round(node.share * 100)}
        aria-valuemin={10}
        aria-valuemax={90}
        onKeyDown={onKeyDown}
        onDblClick={() => move(0.5)}
        onPointerDown={(event) => {
          const box = event.currentTarget.parentElement!.getBoundingClientRect();
          followPointer(event, ({ clientX, clientY }) =>
            move(isRight ? (clientX - box.left) / box.width : (clientY - box.top) / box.height),
          );
        }}
      />
      {part("second")}
    </div>
  );
}

interface PaneProps {
  readonly pane: PaneLayout;
  readonly focused: string | undefined;
  readonly isAlone: boolean;
}

function Pane({ pane, focused, isAlone }: PaneProps) {
  const key = terminalKey(pane);
  const title = paneModels.value.get(key)?.title.value;
  return (
    <div class="term-cell" data-focused={focused === key && !isAlone ? "" : undefined} data-key={key}>
      {isAlone ? null : (
        <header class="term-cell-head">
          <span class="term-cell-name">{visibleText(pane.name)}</span>
          <span class="term-cell-title one-line">{title}</span>
          <IconButton
            icon="close"
            label={`Close ${visibleText(pane.name)}`}
            onClick={() => askToClose([pane])}
          />
        </header>
      )}
      <TerminalPane
        pane={pane}
        hasFocus={focused === key}
        onFocus={() => {
          layout.value = focus(layout.value, key);
        }}
        onClose={() => {
          layout.value = closePane(layout.value, key);
        }}
        onMode={(mode) => {
          layout.value = changePane(layout.value, key, { ...pane, mode });
        }}
      />
    </div>
  );
}
