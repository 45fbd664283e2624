import type { Desk, DeskTerminal } from "./desk.ts";
import { SCENES } from "./scenes.ts";

/** A block, and perhaps the scene that plays in it. */
const BLOCK =
  /^(?:<!-- scene: (?<scene>[\w-]+)(?: (?<number>\d))? -->\n)?```console\n(?<lines>[\s\S]*?)^```$/gm;

/**
 * Runs the page and returns it with what the screens show now. In a `console` block, each line that begins with `$ ` is
 * typed into a shell. A block that needs more than that, such as keys or a second terminal, follows a comment
 * `<!-- scene: NAME -->`, and shows a screen of that scene (`<!-- scene: NAME 2 -->`: its second screen).
 */
export async function playPage(page: string, desk: Desk): Promise<string> {
  const terminal = await desk.terminal();
  const played = new Map<string, readonly string[]>();
  let result = "";
  let end = 0;
  for (const match of page.matchAll(BLOCK)) {
    const { scene, number = "1", lines = "" } = match.groups ?? {};
    const start = match[0].indexOf("```console\n");
    let screen: string | undefined;
    if (scene === undefined) screen = await playLines(lines, terminal);
    else {
      if (!played.has(scene)) played.set(scene, await playScene(scene, desk));
      screen = played.get(scene)![Number(number) - 1];
      if (screen === undefined) throw new Error(`the scene ${scene} has no screen ${number}`);
    }
    result += `${page.slice(end, match.index + start)}\`\`\`console\n${screen}\n\`\`\``;
    end = match.index + match[0].length;
  }
  const unused = Object.keys(SCENES).filter((name) => !played.has(name));
  if (unused.length > 0) throw new Error(`scenes that the page does not show: ${unused.join(", ")}`);
  return result + page.slice(end);
}

async function playScene(name: string, desk: Desk): Promise<readonly string[]> {
  const scene = SCENES[name];
  if (scene === undefined) throw new Error(`there is no scene ${name}`);
  return await scene(desk);
}

async function playLines(block: string, terminal: DeskTerminal): Promise<string> {
  await terminal.clear();
  const lines = block.split("\n").filter((line) => line.startsWith("$ "));
  for (const line of lines) await terminal.run(line.slice(2));
  return await terminal.screen();
}
