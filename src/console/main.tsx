import { render } from "preact";
import { enter } from "./connection/server-link.ts";
import { App } from "./shell/app.tsx";
import { listenForKeys } from "./shell/commands.ts";
import { followLinks, path } from "./shell/router.ts";
import { applyTheme } from "./shell/theme.ts";
import { viewAt } from "./shell/views.ts";

applyTheme();
followLinks();
listenForKeys();
render(<App />, document.getElementById("app")!);
void enter();
// The view loads while the page connects. If that fails, it is tried again, and said, when the view is shown.
viewAt(path.value)
  ?.load()
  .catch(() => {});
