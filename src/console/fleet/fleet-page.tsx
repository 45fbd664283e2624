import { render } from "preact";
import { enter } from "../connection/server-link.ts";
import { listenForKeys } from "../frame/commands.ts";
import { followLinks } from "../frame/router.ts";
import { applyTheme } from "../frame/theme.ts";
import { FleetApp } from "./fleet-app.tsx";
import { openFleetLink } from "./fleet-link.ts";

applyTheme();
followLinks();
listenForKeys();
render(<FleetApp />, document.getElementById("app")!);
void enter(openFleetLink);
