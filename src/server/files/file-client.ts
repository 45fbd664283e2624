import type { ClientConnection } from "../clients/client-connection.ts";

/** What file handlers need of a client, be it a connection or the server of a file helper. */
export type FileClient = Pick<ClientConnection, "budget" | "signal" | "notify" | "drained" | "rights">;
