import { expect, test } from "vitest";
import { Tmux } from "./tmux.ts";

test("a terminal shows what its program writes, takes keys, changes its size and has a status", async () => {
  await using tmux = await Tmux.start();
  const terminal = await tmux.open(["sh"], { columns: 60, rows: 12, env: { PS1: "ready> " } });
  await terminal.shows("ready>");
  await terminal.enter("stty size");
  await terminal.shows("12 60");
  await terminal.resize(70, 15);
  await terminal.hasSize(70, 15);
  await terminal.enter("printf '\\033[31mred\\033[m\\n'");
  await terminal.shows(/^red$/m);
  expect((await terminal.state()).rows.join("\n")).toContain("\u001b[31mred");
  await terminal.enter("exit 7");
  expect(await terminal.status()).toBe(7);
});
