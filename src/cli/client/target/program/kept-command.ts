const SERVES = /^(.*\S)?\s*(?:--listen[ =]stdio(?::\/\/)?|--stdio)$/s;
const BRIDGES = "bridge --stdio";

/**
 * A server on stdio ends with its client, so nothing can be kept there. The same command with `bridge --stdio` leads to
 * the own server of whoever it runs as, on the machine where it runs. Undefined for a command that says neither.
 */
export function keptCommand(command: readonly [string, ...string[]]): [string, ...string[]] | undefined {
  const [program, ...args] = command;
  if (endsWith(args, ["bridge", "--stdio"]) || args.at(-1)?.endsWith(BRIDGES) === true)
    return [program, ...args];
  for (const flags of [["--listen", "stdio"], ["--listen", "stdio://"], ["--listen=stdio"], ["--stdio"]])
    if (endsWith(args, flags)) {
      const before = args.slice(0, -flags.length);
      return [program, ...(before.at(-1) === "serve" ? before.slice(0, -1) : before), "bridge", "--stdio"];
    }
  // One text for the shell of another machine.
  const [, start] = SERVES.exec(args.at(-1) ?? "") ?? [];
  if (start === undefined) return undefined;
  return [program, ...args.slice(0, -1), `${start.replace(/\sserve$/, "")} ${BRIDGES}`];
}

function endsWith(args: readonly string[], end: readonly string[]): boolean {
  return (
    end.length <= args.length && end.every((word, index) => args[args.length - end.length + index] === word)
  );
}
