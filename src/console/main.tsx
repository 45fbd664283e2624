import { render } from "preact";
import { enter } from "./connection/server-link.ts";
import { App } from "./app/app.tsx";
import { listenForKeys } from "./frame/commands.ts";
import { followLinks, path } from "./frame/router.ts";
import { applyTheme } from "./frame/theme.ts";
import { viewAt } from "./app/views.ts";

applyTheme();
followLinks();
listenForKeys();
render(<App />, document.getElementById("app")!);
void enter();
// The view loads while the page connects. If that fails, it is tried again, and said, when the view is shown.
viewAt(path.value)
  ?.load()
  .catch(() => {});
