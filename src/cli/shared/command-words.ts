/** Options of every client command, before or after its name: the only list of them. */
export const TARGET_OPTIONS = [
  ["-H, --host <NAME>", "host of hosts.toml, FLEET/NAME or ssh://[USER@]HOST[:PORT]"],
  ["--url <URL>", "ws(s)://, ws+unix://, relay+https://; or EXEC_SERVER_URL"],
  ["--token-file <PATH>", "file with the server's token; also EXEC_SERVER_TOKEN"],
  ["--ca <PATH>", "CA certificates to trust with wss://; also EXEC_SERVER_CA"],
  ["--cert <PATH>", "client certificate for wss://; also EXEC_SERVER_CERT"],
  ["--key <PATH>", "private key of --cert; also EXEC_SERVER_KEY"],
  ["--no-bring", "do not put exec-server on a machine that lacks it"],
  ["--debug", "show on stderr every message that is sent and received"],
] as const;

/** Commands of the server's program, which the client's only names, with their lines in the overview. */
export const SERVER_COMMANDS: Readonly<Record<string, string>> = {
  serve: "serve clients; may be left out before its options",
  doctor: "check whether a server works here, and what is missing",
  sandbox: "print what a sandbox allows on this machine",
  relay: "connect clients with executors that they cannot reach",
  durable: "show or end what a durable server has left running",
  forward: "register a server that listens elsewhere with a relay",
};

/** Whether a word is one of these options, and whether the next word is its value. Undefined if it is not. */
export function targetOption(word: string): { readonly takesNext: boolean } | undefined {
  // The value of a short option may follow it without a blank.
  const [name = ""] = word.startsWith("--") ? word.split("=", 1) : [word.slice(0, 2)];
  const option = TARGET_OPTIONS.find(([flags]) => flags.split(/[ ,]+/).includes(name));
  return option && { takesNext: option[0].includes("<") && name === word };
}
