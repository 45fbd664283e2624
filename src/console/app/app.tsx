import { Entering, Entrance } from "../connection/entrance.tsx";
import { serverLink } from "../connection/server-link.ts";
import { StartPlace } from "../start/open-start.tsx";
import { Questions } from "../ui/confirm.tsx";
import { Toasts } from "../ui/toast.tsx";
import { Banner } from "./banner.tsx";
import { useCommands } from "../frame/commands.ts";
import { CurrentView } from "./current-view.tsx";
import { generalCommands } from "../frame/general-commands.ts";
import { KeySheet } from "../frame/key-sheet.tsx";
import { Palette } from "../frame/palette.tsx";
import { Rail } from "../frame/rail.tsx";
import { navigate } from "../frame/router.ts";
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
      ...generalCommands(),
    ],
    [views.map(({ id }) => id).join(" ")],
  );
  return (
    <div class="frame">
      <a class="skip" href="#view">
        Skip to the content
      </a>
      <Rail views={views} where={serverLink.server.value?.name ?? location.host} />
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
