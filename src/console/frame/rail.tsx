import { Brand } from "../connection/entrance.tsx";
import { type LinkState, serverLink } from "../connection/server-link.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Keys } from "../ui/keys.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { isKeySheetOpen } from "./key-sheet.tsx";
import { openPalette } from "./palette.tsx";
import { path } from "./router.ts";
import { switchTheme, theme } from "./theme.ts";
import { type View, viewOf } from "./view.ts";

const STATES: Record<LinkState, string> = {
  entering: "Connecting",
  asking: "Not connected",
  connecting: "Connecting",
  connected: "Connected",
  recovering: "Reconnecting",
  lost: "Reconnecting",
};

export interface RailProps {
  readonly views: readonly Pick<View, "id" | "title" | "icon" | "path">[];
  /** What the page is connected to. */
  readonly where: string;
}

/** Where one can go, at the left; at the bottom of a phone. */
export function Rail({ views, where }: RailProps) {
  const current = viewOf(path.value, views)?.id;
  const { state } = serverLink;
  return (
    <nav class="rail" aria-label="Views">
      <div class="rail-head">
        <Brand />
      </div>
      <button class="rail-find" type="button" onClick={openPalette}>
        <Icon name="search" />
        <span class="rail-find-text">Commands</span>
        <Keys keys="Ctrl+K" />
      </button>
      <ul class="rail-views">
        {views.map((view) => (
          <li key={view.id}>
            <a href={view.path} aria-current={view.id === current ? "page" : undefined}>
              <Icon name={view.icon} />
              <span>{view.title}</span>
            </a>
          </li>
        ))}
        <li class="rail-more">
          <button type="button" onClick={openPalette}>
            <Icon name="more" />
            <span>More</span>
          </button>
        </li>
      </ul>
      <div class="rail-foot">
        <span class={`rail-state ${state.value}`} title={`${STATES[state.value]}: ${visibleText(where)}`}>
          <span class="rail-dot" />
          <span class="hidden-text">{STATES[state.value]}: </span>
          <span class="rail-where">{visibleText(where)}</span>
        </span>
        <IconButton
          icon="keyboard"
          label="Show all keys"
          keys="?"
          onClick={() => {
            isKeySheetOpen.value = true;
          }}
        />
        <IconButton
          icon={theme.value === "dark" ? "sun" : "moon"}
          label={theme.value === "dark" ? "Light colours" : "Dark colours"}
          onClick={switchTheme}
        />
      </div>
    </nav>
  );
}
