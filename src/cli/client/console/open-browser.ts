import { spawn } from "node:child_process";

/** A program that hands over to a browser ends at once; one that is the browser stays. */
const PATIENCE_MS = 3_000;

/** Opens a link in the browser of the user. Resolves with false if there is none. */
export async function openBrowser(
  link: string,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<boolean> {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const { DISPLAY, WAYLAND_DISPLAY, BROWSER } = environment;
  // Without a screen, xdg-open would start a browser in this terminal.
  if (program === "xdg-open" && !DISPLAY && !WAYLAND_DISPLAY && !BROWSER) return false;
  return new Promise((resolve) => {
    const child = spawn(program, [link], { stdio: "ignore", detached: true });
    const timer = setTimeout(resolve, PATIENCE_MS, true);
    const end = (opened: boolean): void => {
      clearTimeout(timer);
      resolve(opened);
    };
    child.once("error", () => end(false));
    child.once("exit", (status) => end(status === 0));
    child.unref();
  });
}
