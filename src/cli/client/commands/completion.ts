import { Argument, type Command } from "commander";
import { SCRIPTS, type ShellName } from "../completion/scripts.ts";
import { print } from "../print/output.ts";

const EXAMPLES = `
Completed are commands, options, values of options, hosts, and names of kept processes. No server is started for it.

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
