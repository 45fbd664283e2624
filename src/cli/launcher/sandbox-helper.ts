// dist/sandbox-helper.js: answers file calls of a server inside a sandbox, over its stdin and stdout.
import { Socket } from "node:net";
import { forbidInspection } from "../../native/privileges.ts";
import { serveFiles } from "../../server/files/serve-files.ts";
import { refuseDebugger } from "../serve/refuse-debugger.ts";

forbidInspection();
refuseDebugger();

const input = new Socket({ fd: 0, readable: true, writable: false });
const output = new Socket({ fd: 1, readable: false, writable: true });
void serveFiles(input, output).then(() => process.exit(0));
