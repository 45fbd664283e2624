/** A secret that a server holds: processes use it, and never have it. */
export interface SecretOptions {
  /** What clients and tokens call it. */
  readonly name: string;
  /** The variable in which a process finds its stand-in. Default: `name`. */
  readonly as?: string;
  /** Where it may be sent: hosts, `*.NAME` for everything below a name, or the beginnings of URLs. */
  readonly hosts: readonly string[];
  /** From the server's environment, from a file, or from what a command prints. Files and commands are read again. */
  readonly from: "env" | "file" | "command";
  /** With `env`: the variable. Default: `name`. */
  readonly variable?: string;
  /** With `file`: an absolute path. */
  readonly path?: string;
  /** With `command`: a program, by its absolute path, and its arguments. */
  readonly command?: readonly string[];
  /** The header in which it is sent. Default: `Authorization`, as Bearer, token or Basic. */
  readonly header?: string;
  /** With `header`: the text before the secret. */
  readonly prefix?: string;
  /** Whether its hosts may have private addresses. Default: false. */
  readonly local?: boolean;
}
