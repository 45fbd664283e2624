import { Argument, type Command } from "commander";
import { SCRIPTS, type ShellName } from "../completion/scripts.ts";
import { print } from "../../shared/standard-streams.ts";

const EXAMPLES = `
Completes commands, options, option values, hosts, the names of kept processes, and programs after run --. It never
starts a server.

Examples:
  exec-server completion bash >> ~/.bash_completion
  exec-server completion zsh > ~/.zfunc/_exec-server
  exec-server completion fish > ~/.config/fish/completions/exec-server.fish
`;

/** Adds `completion`. */
export function define(program: Command): void {
  program
    .command("completion")
    .summary("print a script that completes commands in your shell")
    .description("Print a script that completes commands in your shell.")
    .usage("bash | zsh | fish")
    .addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)))
    .addHelpText("after", EXAMPLES)
    .action((shell: ShellName) => print(SCRIPTS[shell]));
}
