declare const EXEC_SERVER_VERSION: string | undefined;

/** Inserted by the build from package.json. */
export const VERSION = typeof EXEC_SERVER_VERSION === "string" ? EXEC_SERVER_VERSION : "0.0.0-development";
