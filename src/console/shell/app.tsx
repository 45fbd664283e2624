import { Entering, Entrance } from "../connection/entrance.tsx";
import { leave, serverLink } from "../connection/server-link.ts";
import { StartPlace } from "../start/open-start.tsx";
import { Questions } from "../ui/confirm.tsx";
import { Toasts } from "../ui/toast.tsx";
import { Banner } from "./banner.tsx";
import { useCommands } from "./commands.ts";
import { CurrentView } from "./current-view.tsx";
import { isKeySheetOpen, KeySheet } from "./key-sheet.tsx";
import { openPalette, Palette } from "./palette.tsx";
import { Rail } from "./rail.tsx";
import { navigate } from "./router.ts";
import { switchTheme } from "./theme.ts";
import { usableViews } from "./views.ts";

export function App() {
  const state = serverLink.state.value;
  const hasHost = serverLink.host.value !== undefined;
  return (
    <>
      {state === "asking" ? <Entrance /> : hasHost ? <Frame /> : <Entering />}
      <Questions />
      <Toasts />
    </>
  );
}

function Frame() {
  const views = usableViews();
  useCommands(
    () => [
      ...views.map(({ id, title, path, key }) => ({
        id: `go-${id}`,
        title,
        group: "Go to",
        keys: `g ${key}`,
        run: () => navigate(path),
      })),
      { id: "palette", title: "Find a command", group: "General", keys: "Ctrl+K", run: openPalette },
      {
        id: "palette-anywhere",
        title: "Find a command, also in a terminal",
        group: "General",
        keys: "F1",
        run: openPalette,
      },
      { id: "keys", title: "Show all keys", group: "General", keys: "?", run: openKeySheet },
      {
        id: "theme",
        title: "Switch between light and dark",
        group: "General",
        keys: "Ctrl+Alt+L",
        run: switchTheme,
      },
      {
        id: "leave",
        title: "Leave, and forget the access of this tab",
        group: "General",
        run: () => void leave(),
      },
    ],
    [views.map(({ id }) => id).join(" ")],
  );
  return (
    <div class="frame">
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <Rail />
      <main class="frame-main" id="view" tabIndex={-1}>
        <Banner />
        <CurrentView />
      </main>
      <StartPlace />
      <Palette />
      <KeySheet />
    </div>
  );
}

function openKeySheet(): void {
  isKeySheetOpen.value = true;
}
