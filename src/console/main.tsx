import { render } from "preact";
import { enter } from "./connection/server-link.ts";
import { App } from "./shell/app.tsx";
import { listenForKeys } from "./shell/commands.ts";
import { followLinks } from "./shell/router.ts";
import { applyTheme } from "./shell/theme.ts";

applyTheme();
followLinks();
listenForKeys();
render(<App />, document.getElementById("app")!);
void enter();
