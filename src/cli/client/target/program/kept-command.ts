const BRIDGE = ["bridge", "--stdio"];
/** Arguments of a command that serves on stdio. */
const SERVES = [
  ["--listen", "stdio"],
  ["--listen", "stdio://"],
  ["--listen=stdio"],
  ["--listen=stdio://"],
  ["--stdio"],
];

/**
 * A server on stdio ends with its client, so it cannot keep anything. The same command with `bridge --stdio` connects
 * to its user's own server on the machine where it runs. Undefined for any other command.
 */
export function keptCommand(command: readonly [string, ...string[]]): [string, ...string[]] | undefined {
  const [program, ...args] = command;
  const bridged = withBridge(args);
  if (bridged !== undefined) return [program, ...bridged];
  // The last argument may be one text for the shell of another machine.
  const text = withBridge(args.at(-1)?.split(" ") ?? []);
  return text && [program, ...args.slice(0, -1), text.join(" ")];
}

function withBridge(words: readonly string[]): string[] | undefined {
  if (endsWith(words, BRIDGE)) return [...words];
  const flags = SERVES.find((end) => endsWith(words, end));
  if (flags === undefined) return undefined;
  const before = words.slice(0, -flags.length);
  return [...(before.at(-1) === "serve" ? before.slice(0, -1) : before), ...BRIDGE];
}

function endsWith(words: readonly string[], end: readonly string[]): boolean {
  return (
    end.length <= words.length &&
    end.every((word, index) => words[words.length - end.length + index] === word)
  );
}
