import { render } from "preact";
import { enter } from "../connection/server-link.ts";
import { listenForKeys } from "../shell/commands.ts";
import { followLinks } from "../shell/router.ts";
import { applyTheme } from "../shell/theme.ts";
import { FleetApp } from "./fleet-app.tsx";
import { openFleetLink } from "./fleet-link.ts";

applyTheme();
followLinks();
listenForKeys();
render(<FleetApp />, document.getElementById("app")!);
void enter(openFleetLink);
