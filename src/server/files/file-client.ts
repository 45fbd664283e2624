import type { ClientConnection } from "../clients/client-connection.ts";

/** What the handlers of files need of a client, whether it is a connection or the server of a file helper. */
export type FileClient = Pick<ClientConnection, "budget" | "signal" | "notify" | "drained" | "rights">;
