import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { navigate } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import { paneAt, pathOf } from "./addresses.ts";
import { Chooser } from "./chooser.tsx";
import { ClosingQuestion } from "./closing.tsx";
import { useKeptTerminals } from "./kept-terminals.ts";
import { focusedPane, terminalKey, show } from "./layout.ts";
import { layout } from "./open-terminals.ts";
import { SplitPanes } from "./split-panes.tsx";
import { TabBar } from "./tab-bar.tsx";
import { useTerminalCommands } from "./terminal-commands.ts";

/** Terminals in tabs and panes. The address names the one that has the keyboard. */
export default function TerminalsView({ path }: ViewProps) {
  useKeptTerminals();
  useTerminalCommands();
  /** The address that the layout has asked for. It comes back late, when keys may have gone on to another tab. */
  const told = useRef("");
  useEffect(() => {
    if (path === told.current) return;
    const named = paneAt(path);
    const shown = focusedPane(layout.value);
    if (named !== undefined && (shown === undefined || pathOf(shown) !== path))
      layout.value = show(layout.value, named);
    else if (named === undefined && shown !== undefined) navigate(pathOf(shown), { replace: true });
  }, [path]);
  useSignalEffect(() => {
    const shown = focusedPane(layout.value);
    // Not while the address is about to change the layout.
    if (!location.pathname.startsWith("/t")) return;
    told.current = shown === undefined ? "/t" : pathOf(shown);
    navigate(told.current, { replace: true });
  });
  const { tabs, current } = layout.value;
  // Emulators take long to make, so a page with many tabs makes those of a tab when it is first shown.
  const seen = useRef(new Set<number>()).current;
  if (current !== undefined) seen.add(current);
  if (tabs.length === 0) return <Chooser />;
  return (
    <section class="view term-view">
      <TabBar />
      <div class="term-sheets">
        {tabs.map((tab) => (
          <div
            key={tab.id}
            class="term-sheet"
            role="tabpanel"
            aria-label={terminalKey({ name: tab.focus })}
            hidden={tab.id !== current}
          >
            {seen.has(tab.id) ? (
              <SplitPanes
                node={tab.root}
                tab={tab.id}
                path={[]}
                focused={tab.id === current ? tab.focus : undefined}
              />
            ) : null}
          </div>
        ))}
      </div>
      <ClosingQuestion />
    </section>
  );
}
