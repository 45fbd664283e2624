import { Entering, Entrance } from "../connection/entrance.tsx";
import { serverLink } from "../connection/server-link.ts";
import { StartDialogSlot } from "../start/open-start.tsx";
import { Questions } from "../ui/confirm.tsx";
import { Toasts } from "../ui/toast.tsx";
import { inGroup, useCommands } from "../frame/commands.ts";
import { generalCommands, PageFrame } from "../frame/page-frame.tsx";
import { navigate } from "../frame/router.ts";
import { ConnectionBanner } from "./connection-banner.tsx";
import { CurrentView } from "./current-view.tsx";
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
  const goTo = ({ title, path }: (typeof views)[number]) => ({
    id: `go-${path}`,
    title,
    keys: `g ${path.slice(1)}`,
    run: () => navigate(path),
  });
  useCommands(
    () => [...inGroup("Go to", views.map(goTo)), ...generalCommands()],
    [views.map(({ path }) => path).join(" ")],
  );
  return (
    <>
      <PageFrame views={views} where={serverLink.server.value?.name ?? location.host}>
        <ConnectionBanner />
        <CurrentView />
      </PageFrame>
      <StartDialogSlot />
    </>
  );
}
