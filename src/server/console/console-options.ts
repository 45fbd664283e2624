/** How the web console is served. */
export interface ConsoleOptions {
  /**
   * File with the key of the sessions of browsers, which is made if it is missing. Default: a key in memory, so that
   * browsers have to sign in again after a restart.
   */
  readonly keyFile?: string | undefined;
  /** Directory of the built page. Default: the one of this package. */
  readonly directory?: string | undefined;
}
