/** Its own declarations are for browsers, and bring the names of the DOM into every file. */
declare module "@xterm/addon-unicode11/lib/addon-unicode11.js" {
  import type { ITerminalAddon, Terminal } from "@xterm/headless";
  const library: {
    readonly Unicode11Addon: new () => ITerminalAddon & { activate(terminal: Terminal): void };
  };
  export default library;
}
