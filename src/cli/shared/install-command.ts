/**
 * Command that installs this program on a machine. The name `exec-server` on the npm registry is not ours until a
 * release is published there: `npm install exec-server` would run whatever someone else has published. A release
 * changes this line (RELEASING.md), and a test then finds every page that differs.
 */
export const INSTALL_COMMAND = "npm install --global ./exec-server-*.tgz";
