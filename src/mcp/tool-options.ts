/** What clients of the Model Context Protocol may do on a server, besides what their tokens say. */
export interface McpToolOptions {
  /** Directories that may be changed. Commands start in the first. Default: the server's working directory. */
  readonly roots?: readonly string[];
  /** How commands and files are confined. Default: `workspace-write`. */
  readonly sandbox?: "workspace-write" | "read-only" | "none";
  /** Gives commands a network, and offers `http_request`. Default: false. */
  readonly network?: boolean;
  /** Only these tools. Default: all. */
  readonly tools?: readonly string[];
  /** Tools that the user of the client must agree to, call by call. Default: none. */
  readonly ask?: readonly string[];
}
